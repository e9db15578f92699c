"""The shapes of a head's maps (Kovaleva et al. 2019, §4.1)."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from headscope.figures.atlas.head_rows import rows_of, share_row
from headscope.figures.atlas.section import Rows, section
from headscope.figures.head_values import read_heads
from headscope.figures.registered import RunLike

PATTERNS: Final = ("vertical", "diagonal", "vertical_diagonal", "block", "heterogeneous")


@section(
    "patterns",
    title="Shapes of its maps",
    tables=("patterns",),
    order=70,
    note="The share of maps that a trained classifier gives each shape.",
)
def patterns(run: RunLike) -> Rows:
    """The share of every shape; more than half is strong."""
    return rows_of(
        read_heads(run.table("patterns"), what="pattern", value="share"),
        names=PATTERNS,
        label=lambda name: name.replace("_", " and "),
        row=lambda v, label: replace(share_row(v, label), strong=v.value > 0.5),
    )
