"""What happens without a head (Kovaleva et al. 2019, §4.6; Michel et al. 2019)."""

from __future__ import annotations

from headscope.figures.atlas.head_rows import head_records, largest, number
from headscope.figures.atlas.row import Row
from headscope.figures.atlas.section import Rows, section
from headscope.figures.registered import RunLike
from headscope.types import HeadId


@section(
    "ablation",
    title="Without it",
    tables=("ablation",),
    order=110,
    note="The change of the metric when this head alone is edited; an interval that spans 0 means "
    "that no change was found.",
)
def ablation(run: RunLike) -> Rows:
    """The change per edit and metric; an interval without 0 is strong."""
    single = [
        (head, row)
        for head, row in head_records(run.table("ablation"))
        if row.get("group") in (None, "", str(head))
    ]
    full = largest(number(row["delta"]) for _, row in single)
    found: dict[HeadId, list[Row]] = {}
    for head, row in single:
        low, high = number(row["ci_low"]), number(row["ci_high"])
        delta = number(row["delta"])
        found.setdefault(head, []).append(
            Row(
                f"{row['metric']}, {row['edit']}",
                delta,
                unit="number",
                value="" if delta != delta else f"{delta:+.4g}",
                low=low,
                high=high,
                n=row["n"],
                full=full,
                text=f"from {number(row['baseline']):.4g} to {number(row['value']):.4g}",
                strong=low > 0 or high < 0,
                keywords="ablation",
            )
        )
    return found
