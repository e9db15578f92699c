"""The roles of a head: scores, intervals, p-values (Pande et al. 2021)."""

from __future__ import annotations

import math

from headscope.figures.atlas.row import Row
from headscope.figures.atlas.section import Rows, section
from headscope.figures.registered import RunLike
from headscope.figures.role_names import looks, read_roles
from headscope.figures.wording import probability
from headscope.types import HeadId

#: A bar is full at so many times the threshold.
FULL = 3


@section(
    "roles",
    title="Roles",
    tables=("roles",),
    order=10,
    note=f"The attention a role's tokens get, as a multiple of an even share; bars are full at "
    f"{FULL} times the threshold. p as tested, q corrected for many tests.",
)
def roles(run: RunLike) -> Rows:
    """Every role that was tested; those the head has are strong."""
    table = read_roles(run.table("roles"))
    shown = {look.name: look.label for look in looks({row.role for row in table.rows})}
    place = {name: i for i, name in enumerate(shown)}
    found: dict[HeadId, list[tuple[int, Row]]] = {}
    for row in table.rows:
        told = "" if math.isnan(row.p_value) else f"{probability('p', row.p_value)}, "
        line = Row(
            shown[row.role],
            row.mean,
            unit="times",
            low=row.low,
            high=row.high,
            full=FULL * table.tau,
            text=f"{told}{probability('q', row.q_value)}" if told else "",
            strong=row.assigned,
            keywords=row.role,
        )
        found.setdefault(row.head, []).append((place[row.role], line))
    return {
        head: [line for _, line in sorted(own, key=lambda pair: pair[0])]
        for head, own in found.items()
    }
