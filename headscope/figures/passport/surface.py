"""Where a head looks on the surface (Clark et al. 2019, §3.1–3.2)."""

from __future__ import annotations

from dataclasses import replace

from headscope.figures.atlas.head_rows import rows_of, share_row
from headscope.figures.atlas.row import Row
from headscope.figures.atlas.section import Rows, section
from headscope.figures.head_values import HeadValue, read_heads
from headscope.figures.registered import RunLike
from headscope.figures.surface_targets import POINTED, in_order, target


@section(
    "surface",
    title="Where it looks",
    tables=("surface",),
    order=30,
    note="The share of an average token's attention.",
)
def surface(run: RunLike) -> Rows:
    """The share of attention every target gets; more than half is strong."""
    values = read_heads(run.table("surface"), what="target", value="mean")

    def row(value: HeadValue, label: str) -> Row:
        strong = value.what in POINTED and value.value > 0.5
        return replace(share_row(value, label), strong=strong, keywords=value.what)

    return rows_of(
        values,
        names=in_order({v.what for v in values}),
        label=lambda name: target(name).label,
        row=row,
    )
