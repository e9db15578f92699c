"""How much the loss depends on a head, by gradient (Michel et al. 2019)."""

from __future__ import annotations

from headscope.figures.atlas.head_rows import head_records, largest, number
from headscope.figures.atlas.row import Row
from headscope.figures.atlas.section import Rows, section
from headscope.figures.registered import RunLike


@section(
    "importance",
    title="Importance",
    tables=("importance",),
    order=92,
    note="|∂loss/∂gate|, the mean over sequences; a full bar is the most important head.",
)
def importance(run: RunLike) -> Rows:
    """The score of every head, and its place among all."""
    records = head_records(run.table("importance"))
    scores = [number(row["score"]) for _, row in records]
    full = largest(scores)
    order = sorted((s for s in scores if s == s), reverse=True)
    found = {}
    for head, row in records:
        score = number(row["score"])
        rank = order.index(score) + 1 if score == score else 0
        found[head] = [
            Row(
                "gate gradient",
                score,
                unit="number",
                value="" if score != score else f"{score:.3g}",
                low=number(row.get("ci_low")),
                high=number(row.get("ci_high")),
                n=row["n"],
                full=full,
                text=f"rank {rank} of {len(order)}" if rank else "",
                keywords="importance gradient",
            )
        ]
    return found
