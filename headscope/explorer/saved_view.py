"""The attention of a model over one text as a page of its own: for notebooks, and to keep.

All maps lie in the page, in half precision. The page is made of the explorer's own modules, joined
into one script that its policy allows by hash; it asks nothing of any server.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Self

import numpy as np
from markupsafe import Markup

from headscope.errors import UsageError
from headscope.explorer.live.changes import changes
from headscope.explorer.live.passes import LiveModel, Pass
from headscope.explorer.live.routes import told
from headscope.explorer.pages import rendered, static_files
from headscope.figures.atlas.plain_text import plain_text
from headscope.models import LoadedModel, head_set
from headscope.models.layout import Layout

#: What the maps of a page may weigh: a notebook is opened, saved and sent around.
MAX_BYTES = 8 * 1024 * 1024
#: The modules a page needs, each after those it imports.
MODULES = (
    "dom", "mode", "half", "ask", "scale", "units", "rows", "lines", "map", "pictures", "what_if",
    "saved_source", "live_state", "live", "view_page",
)  # fmt: skip
_IMPORT = re.compile(r'^import \{[^}]*\} from "\./\w+\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=const |class )", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class AttentionView:
    """The page as HTML text. Needs no server: a saved notebook shows it when it is reopened."""

    page: str = field(repr=False)
    model: str
    height: int = 900

    @classmethod
    def of(
        cls,
        model: LoadedModel,
        text: str,
        pair: str = "",
        *,
        edits: Mapping[str, str] | None = None,
        head: str = "",
    ) -> Self:
        """Read a text, once as it is and once with the edits, if there are any.

        `edits` maps the name of an edit to heads, `{"zero": "3-1, 4-2"}`; `head` is seen first.
        """
        live = LiveModel(model)
        asked = [
            {"edit": edit, "heads": [str(one)], "head": str(one), "on": True}
            for edit, heads in (edits or {}).items()
            for one in sorted(head_set(heads))
        ]
        for one in head_set(head) if head else ():
            model.layout.check(one)
        _check_size(model.layout, live, text, pair, twice=bool(asked))
        before = live.read(text, pair)
        after = live.read(text, pair, [{"edit": e["edit"], "heads": e["heads"]} for e in asked])
        saved = {
            "model": {**live.describe(), "edits": [*live.describe()["edits"]]},
            "before": told(before, live),
            "after": told(after, live) if asked else None,
            "changes": changes(before, after) if asked else None,
            "maps": {one.key: _maps(one) for one in ([before, after] if asked else [before])},
            "start": {"text": text, "pair": pair, "edits": asked, "head": head},
        }
        script = joined_modules()
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        policy = (
            f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
            "img-src data:; base-uri 'none'; form-action 'none'"
        )
        page = rendered(
            "view",
            policy=policy,
            model=plain_text(model.name, 120),
            text=plain_text(text, 400),
            pair=plain_text(pair, 400),
            style=Markup(static_files()["style.css"].decode()),
            saved=saved,
            script=Markup(script),
        )
        return cls(page, model.name)

    def save(self, path: str | Path) -> Path:
        """Write the page to a file of its own."""
        path = Path(path)
        path.write_text(self.page, encoding="utf-8")
        return path

    def _repr_html_(self) -> str:
        # The frame may run the page's scripts, and reach neither the notebook nor the network.
        return (
            f'<iframe title="Attention of {escape(self.model[:200])}" sandbox="allow-scripts" '
            f'style="width:100%;height:{self.height}px;border:0" srcdoc="{escape(self.page)}">'
            "</iframe>"
        )


def joined_modules() -> str:
    """The modules as one script: names they share are unique, so importing is leaving out."""
    parts = []
    for name in MODULES:
        source = static_files()[f"{name}.js"].decode()
        parts.append(_EXPORT.sub("", _IMPORT.sub("", source)))
    script = "(() => {\n" + "\n".join(parts) + "})();"
    return re.sub(r"<(?=/script|!--)", r"\\x3c", script, flags=re.IGNORECASE)


def _maps(found: Pass) -> dict[str, list[str]]:
    return {
        stack: [base64.b64encode(np.asarray(one, dtype="<f2").tobytes()).decode() for one in layers]
        for stack, layers in found.maps.items()
    }


def _check_size(layout: Layout, live: LiveModel, text: str, pair: str, *, twice: bool) -> None:
    """Refuse before any work what would not fit into a notebook."""
    from headscope.explorer.live.reading import typed

    encoded = typed(live.loaded, text, pair, max_tokens=live.max_tokens)
    longest = max(e.n_tokens for e in (encoded, encoded.target) if e is not None)
    n_heads = len(layout.heads())
    weight = 2 * n_heads * longest**2 * (2 if twice else 1)
    if weight > MAX_BYTES:
        most = int((MAX_BYTES / (2 * n_heads * (2 if twice else 1))) ** 0.5)
        raise UsageError(
            f"{longest} tokens × {n_heads} heads are too much for a page ({weight / 1e6:.0f} MB); "
            f"at most {most} tokens, or look at them with: headscope serve DIR --model …"
        )
