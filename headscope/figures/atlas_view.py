"""The atlas inside a notebook: a page of its own in a frame, saved with the notebook."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Self

from headscope.figures.atlas.run_heads import plain_record
from headscope.figures.registered import RunLike
from headscope.figures.report import render_atlas


@dataclass(frozen=True, slots=True)
class Atlas:
    """The page as HTML text. Needs no server: a saved notebook shows it when it is reopened."""

    page: str = field(repr=False)
    model: str
    height: int = 860

    @classmethod
    def of(cls, runs: Sequence[RunLike]) -> Self:
        """The atlas of one run, or of several of the same layout."""
        model = plain_record(runs[0]).get("model", {}).get("name") or "a model"
        return cls(render_atlas(runs), model)

    def save(self, path: str | Path) -> Path:
        """Write the page to a file of its own."""
        path = Path(path)
        path.write_text(self.page, encoding="utf-8")
        return path

    def _repr_html_(self) -> str:
        # The frame may run the page's scripts, and reach neither the notebook nor the network.
        return (
            f'<iframe title="Atlas of {escape(self.model[:200])}" sandbox="allow-scripts" '
            f'style="width:100%;height:{self.height}px;border:0" srcdoc="{escape(self.page)}">'
            "</iframe>"
        )
