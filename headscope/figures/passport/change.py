"""What the model's weights say of a head: gradients, importance, change by fine-tuning."""

from __future__ import annotations

from headscope.figures.atlas.head_rows import head_records, largest, number, rows_of
from headscope.figures.atlas.row import Row, Unit
from headscope.figures.atlas.section import Rows, section
from headscope.figures.head_values import read_heads
from headscope.figures.registered import RunLike
from headscope.figures.surface_targets import in_order, target


@section(
    "gradient",
    title="What its weights matter for",
    tables=("gradient",),
    order=90,
    note="The size of the loss's gradient with respect to the weights on each kind of token.",
)
def gradient(run: RunLike) -> Rows:
    """Mean absolute gradient per kind of key."""
    values = read_heads(run.table("gradient"), what="target", value="mean_abs")
    full = largest(v.value for v in values)
    return rows_of(
        values,
        names=in_order({v.what for v in values}),
        label=lambda name: target(name).label,
        row=lambda v, label: Row(label, v.value, unit="number", n=v.n, full=full),
    )


@section(
    "similarity",
    title="Change",
    tables=("similarity",),
    order=94,
    note="The cosine of this head's maps with those of the other run; 1 is unchanged.",
)
def similarity(run: RunLike) -> Rows:
    """Cosine with the same head of another model (Kovaleva et al. 2019, §4.3)."""
    return _one_number(run, "similarity", "cosine", "cosine", "number", full=1.0)


def _one_number(
    run: RunLike, table: str, column: str, label: str, unit: Unit, full: float | None = None
) -> Rows:
    rows = head_records(run.table(table))
    full = full or largest(number(row[column]) for _, row in rows)
    return {
        head: [
            Row(
                label, number(row[column]), unit=unit, n=row["n"], full=full,
                low=number(row.get("ci_low")), high=number(row.get("ci_high")),
            )
        ]
        for head, row in rows
    }  # fmt: skip
