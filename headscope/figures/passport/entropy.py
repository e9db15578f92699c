"""How focused a head is (Clark et al. 2019, §3.3)."""

from __future__ import annotations

from headscope.figures.atlas.head_rows import largest, rows_of
from headscope.figures.atlas.row import Row
from headscope.figures.atlas.section import Rows, section
from headscope.figures.head_values import read_heads
from headscope.figures.registered import RunLike

LABELS = {"all": "entropy of all rows", "cls": "entropy of the [CLS] row"}


@section(
    "entropy",
    title="How focused it is",
    tables=("entropy",),
    order=50,
    note="Low entropy is attention on few tokens; bars are full at this model's most even head.",
)
def entropy(run: RunLike) -> Rows:
    """Mean entropy, over all rows and of the [CLS] row."""
    values = read_heads(run.table("entropy"), what="rows", value="mean_nats")
    full = largest(v.value for v in values)
    return rows_of(
        values,
        names=tuple(LABELS),
        label=lambda name: LABELS.get(name, name),
        row=lambda v, label: Row(
            label, v.value, unit="nats", low=v.low, high=v.high, n=v.n, full=full
        ),
    )
