"""Whether a head finds what a mention refers to (Clark et al. 2019, §4.3)."""

from __future__ import annotations

from typing import Final

from headscope.figures.atlas.head_rows import number, rows_of
from headscope.figures.atlas.row import Row
from headscope.figures.atlas.section import Rows, section
from headscope.figures.head_values import HeadValue, read_heads
from headscope.figures.registered import RunLike

MENTIONS: Final = {
    "all": "all mentions",
    "pronoun": "pronouns",
    "proper": "proper names",
    "nominal": "other nouns",
}


@section(
    "coreference",
    title="Coreference",
    tables=("coreference",),
    order=65,
    note="How often a mention attends most to one it refers back to. The baseline takes the "
    "nearest mention.",
)
def coreference(run: RunLike) -> Rows:
    """Antecedent accuracy per kind of mention, against the nearest mention."""
    values = read_heads(run.table("coreference"), what="mention", value="accuracy")
    nearest = {}
    if "coreference_baseline" in run.tables:
        nearest = {
            row["mention"]: number(row["accuracy"])
            for row in run.table("coreference_baseline").to_pylist()
            if row["system"] == "nearest"
        }

    def row(v: HeadValue, label: str) -> Row:
        base = nearest.get(v.what)
        known = base is not None and base == base and v.known
        against = f"{(v.value - base) * 100:+.1f} points" if known and base is not None else ""
        strong = known and base is not None and v.low > base
        return Row(
            label, v.value, low=v.low, high=v.high, n=v.n, full=1.0, text=against, strong=strong,
            keywords="coreference",
        )  # fmt: skip

    return rows_of(
        values, names=tuple(MENTIONS), label=lambda name: MENTIONS.get(name, name), row=row
    )
