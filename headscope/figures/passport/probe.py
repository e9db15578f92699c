"""What a head's output knows: probes (Jo & Myaeng 2020)."""

from __future__ import annotations

from headscope.figures.atlas.head_rows import head_records, number
from headscope.figures.atlas.row import Row
from headscope.figures.atlas.section import Rows, section
from headscope.figures.registered import RunLike
from headscope.types import HeadId

#: Metrics that are shares; correlations are not.
SHARES = ("accuracy", "f1")


@section(
    "probe",
    title="What its output knows",
    tables=("probe",),
    order=100,
    note="Test scores of a classifier that sees this head's output alone.",
)
def probe(run: RunLike) -> Rows:
    """One row per task and metric."""
    found: dict[HeadId, list[Row]] = {}
    for head, row in head_records(run.table("probe")):
        if row["representation"] == "head":
            validation = number(row["validation"])
            found.setdefault(head, []).append(
                Row(
                    f"{row['task']} ({row['metric']})",
                    number(row["test"]),
                    unit="share" if row["metric"] in SHARES else "number",
                    full=1.0,
                    text="" if validation != validation else f"validation {validation:.3f}",
                    keywords=row["task"],
                )
            )
    return {head: sorted(rows, key=lambda r: r.label) for head, rows in found.items()}
