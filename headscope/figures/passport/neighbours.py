"""The heads that attend most alike (Clark et al. 2019, §6)."""

from __future__ import annotations

from typing import Final, cast

import numpy as np

from headscope.figures.atlas.row import Row
from headscope.figures.atlas.section import Rows, section
from headscope.figures.registered import RunLike
from headscope.types import HeadId, Stack

N_NEAREST: Final = 5


@section(
    "divergence",
    title="Nearest heads",
    tables=("divergence",),
    order=80,
    note=f"Jensen–Shannon divergence per row: 0 is the same attention, {np.log(2):.2f} nats (a "
    "full bar) attention to entirely different tokens.",
    comparable=False,
)
def neighbours(run: RunLike) -> Rows:
    """The five heads with the smallest divergence."""
    table = run.table("divergence")
    names = ("layer_a", "head_a", "layer_b", "head_b", "js_nats")
    stacks = table.column("stack").to_pylist() if "stack" in table.column_names else None
    columns = [table.column(name).to_pylist() for name in names]
    near: dict[HeadId, dict[HeadId, float]] = {}
    for i, (layer_a, head_a, layer_b, head_b, js) in enumerate(zip(*columns, strict=True)):
        stack = cast("Stack", stacks[i] if stacks else "self")
        a, b = HeadId(layer_a, head_a, stack), HeadId(layer_b, head_b, stack)
        if a != b and js is not None and js == js:
            # the table may hold a pair once or in both orders
            near.setdefault(a, {})[b] = js
            near.setdefault(b, {})[a] = js
    return {
        head: [
            Row(str(other), js, unit="nats", full=float(np.log(2)), head=other)
            for other, js in sorted(others.items(), key=lambda pair: (pair[1], pair[0]))[:N_NEAREST]
        ]
        for head, others in near.items()
    }
