"""What every head does: a grid with a small square per role (Pande et al. 2021, Figure 5)."""

from __future__ import annotations

import json
import math

import altair as alt

from headscope.figures import wording
from headscope.figures.head_values import Records
from headscope.figures.picture import Chart, Picture, Table
from headscope.figures.registered import RunLike, figure
from headscope.figures.role_names import RoleLook, RoleTable, distinct, looks, read_roles
from headscope.figures.theme import STACK_TITLES
from headscope.types import STACKS, HeadId, Stack

NOTE = (
    "Each grey cell is a head, each row a layer, and a coloured square a role of the head, always "
    "at the same place: see the key. Within a layer, heads with more roles come first; the box "
    "below the chart puts them in their own order. A head without squares was not found to have a "
    "role, which does not prove that it has none."
)


@figure("skill_grid", tables=("roles",), order=40)
def skill_grid(run: RunLike) -> Picture:
    """One grid per stack, with a key."""
    roles = read_roles(run.table("roles"))
    shown = looks({row.role for row in roles.rows})
    side = math.ceil(math.sqrt(len(shown)))
    slots = {look.name: divmod(i, side) for i, look in enumerate(shown)}
    cells, squares = _records(roles, shown)
    stacks = [s for s in STACKS if any(h.stack == s for h in roles.heads)]
    by_number = alt.param(
        name="own_order",
        value=False,
        bind=alt.binding_checkbox(name="heads in their own order "),
    )
    grids = [_grid(stack, roles, slots, shown, side) for stack in stacks]
    whole: Chart = alt.hconcat(alt.vconcat(*grids), _key(shown, slots, side), spacing=30)
    whole = whole.add_params(by_number)
    whole.datasets = {"cells": cells, "squares": squares}
    return Picture(
        title="The roles of every head",
        sentence=found(roles),
        chart=whole,
        alt=f"A grid of heads, layer by layer, with a small square per role. {found(roles)}",
        note=f"{roles.rule} {NOTE}",
        table=_table(roles),
        prominence=9,
    )


def ranked(roles: RoleTable) -> dict[HeadId, int]:
    """The place of a head in its layer, from 1: most roles first, then by number."""
    skills = roles.skills()
    places: dict[HeadId, int] = {}
    layers: dict[tuple[str, int], list[HeadId]] = {}
    for head in roles.heads:
        layers.setdefault((head.stack, head.layer), []).append(head)
    for members in layers.values():
        members.sort(key=lambda head: (-len(skills[head]), head))
        places.update({head: i for i, head in enumerate(members, 1)})
    return places


def _records(roles: RoleTable, shown: list[RoleLook]) -> tuple[Records, Records]:
    places, skills = ranked(roles), roles.skills()
    labels = {look.name: look.label for look in shown}

    def place(head: HeadId) -> dict[str, object]:
        return {
            "stack": head.stack,
            "layer": head.layer + 1,
            "head": head.head + 1,
            "rank": places[head],
            "label": str(head),
        }

    cells = [
        {
            **place(head),
            "n": len(own),
            "roles": ", ".join(labels[r] for r in sorted(own, key=list(labels).index)) or "none",
        }
        for head, own in skills.items()
    ]
    squares = [
        {
            **place(row.head),
            "role": row.role,
            "name": labels[row.role],
            "mean": float(f"{row.mean:.4g}"),
            "interval": wording.amount_interval(row.low, row.high),
            "q": float(f"{row.q_value:.3g}"),
        }
        for row in roles.rows
        if row.assigned
    ]
    return cells, squares


def _grid(
    stack: Stack,
    roles: RoleTable,
    slots: dict[str, tuple[int, int]],
    shown: list[RoleLook],
    side: int,
) -> Chart:
    heads = [head for head in roles.heads if head.stack == stack]
    n_layers, n_heads = max(h.layer for h in heads) + 1, max(h.head for h in heads) + 1
    size = max(15, min(46, 660 // n_heads))
    named = size >= 30
    room = 0.74 if named else 0.92  # the strip below the squares carries the head's name
    step = room / side
    column = "(own_order ? datum.head : datum.rank)"
    index = json.dumps([look.name for look in shown])
    rows = json.dumps([slots[look.name][0] for look in shown])
    columns = json.dumps([slots[look.name][1] for look in shown])
    wide = 0.92 / side
    x = alt.X("x:Q", scale=alt.Scale(domain=[0, n_heads], nice=False), axis=None)
    y = alt.Y(
        "y:Q",
        title="layer",
        scale=alt.Scale(domain=[n_layers, 0], nice=False),
        axis=alt.Axis(
            values=[i + 0.5 for i in range(n_layers)],
            labelExpr="format(datum.value + 0.5, 'd')",
            grid=False,
            ticks=False,
            domain=False,
            titleAngle=0,
            titleAlign="right",
        ),
    )
    here = f"datum.stack == {json.dumps(stack)}"
    cells = (
        alt.Chart(alt.NamedData(name="cells"))
        .transform_filter(here)
        .transform_calculate(
            x=f"{column} - 0.97",
            x2=f"{column} - 0.03",
            y="datum.layer - 0.97",
            y2="datum.layer - 0.03",
            middle=f"{column} - 0.5",
            foot="datum.layer - 0.12",
        )
    )
    squares = (
        alt.Chart(alt.NamedData(name="squares"))
        .transform_filter(here)
        .transform_calculate(slot=f"indexof({index}, datum.role)")
        .transform_calculate(
            x=f"{column} - 0.96 + {columns}[datum.slot] * {wide:.4f} + 0.01",
            x2=f"{column} - 0.96 + ({columns}[datum.slot] + 1) * {wide:.4f} - 0.01",
            y=f"datum.layer - 0.96 + {rows}[datum.slot] * {step:.4f} + 0.01",
            y2=f"datum.layer - 0.96 + ({rows}[datum.slot] + 1) * {step:.4f} - 0.01",
        )
    )
    layers: list[alt.Chart] = [
        cells.mark_rect(style="no_data").encode(
            x=x,
            x2="x2:Q",
            y=y,
            y2="y2:Q",
            tooltip=[
                alt.Tooltip("label:N", title="head"),
                alt.Tooltip("n:Q", title="roles"),
                alt.Tooltip("roles:N", title="which"),
            ],
        ),
        squares.mark_rect().encode(
            x=x,
            x2="x2:Q",
            y=y,
            y2="y2:Q",
            color=_colour(shown),
            tooltip=[
                alt.Tooltip("label:N", title="head"),
                alt.Tooltip("name:N", title="role"),
                alt.Tooltip("mean:Q", title="mean score", format=".2f"),
                alt.Tooltip("interval:N", title="95 % interval"),
                alt.Tooltip("q:Q", title="corrected p", format=".2g"),
            ],
        ),
    ]
    if named:
        layers.append(
            cells.mark_text(style="annotation", fontSize=8.5, baseline="middle").encode(
                x=alt.X("middle:Q"), y=alt.Y("foot:Q"), text="label:N"
            )
        )
    title = STACK_TITLES[stack].capitalize() if stack != "self" else "Heads and their roles"
    grid: Chart = alt.layer(*layers).properties(
        width=size * n_heads, height=round(size * 1.12) * n_layers, title=title
    )
    return grid


def _colour(shown: list[RoleLook]) -> alt.Color:
    scale = alt.Scale(domain=[r.name for r in shown], range=[r.colour for r in shown])
    return alt.Color("role:N", scale=scale, legend=None)


def _key(shown: list[RoleLook], slots: dict[str, tuple[int, int]], side: int) -> Chart:
    rows = [
        {"role": r.name, "label": r.label, "row": slots[r.name][0], "column": slots[r.name][1]}
        for r in shown
    ]
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=alt.X("column:O", axis=None, scale=alt.Scale(paddingInner=0.06)),
        y=alt.Y("row:O", axis=None, scale=alt.Scale(paddingInner=0.3)),
    )
    key: Chart = alt.layer(
        base.mark_rect(height=20).encode(color=_colour(shown)),
        base.mark_text(style="annotation", fontSize=9.5, dy=18).encode(text="label:N"),
    ).properties(width=66 * side, height=50 * side, title="Key: a role's place in a cell")
    return key


def found(roles: RoleTable) -> str:
    """How many heads have roles, which has most, and which role is the most frequent."""
    skills = roles.skills()
    n = len(skills)
    unskilled = sum(not own for own in skills.values())
    several = sum(len(distinct(own)) > 1 for own in skills.values())
    if unskilled == n:
        return f"None of the {n} heads was found to have a role at τ = {roles.tau:g}."
    best = max(skills, key=lambda head: len(skills[head]))
    sets = roles.sets()
    common = max(sets, key=lambda role: len(sets[role]))
    label = next(look.label for look in looks([common]))
    return (
        f"Of {n} heads, {n - unskilled} have at least one role and {several} several of "
        "different kinds; "
        f"{unskilled} {'has' if unskilled == 1 else 'have'} none. The most frequent role is "
        f"{label} ({wording.plural(len(sets[common]), 'head')}); head {best} has the most roles, "
        f"{len(skills[best])} of {len(sets)}."
    )


def _table(roles: RoleTable) -> Table:
    sets = roles.sets()
    rows = []
    for look in looks(sets):
        mine = [r for r in roles.rows if r.role == look.name and not math.isnan(r.mean)]
        top = max(mine, key=lambda r: r.mean, default=None)
        rows.append(
            (
                look.label,
                str(len(sets[look.name])),
                str(top.head) if top else "–",
                f"{top.mean:.2f}" if top else wording.NO_DATA,
                wording.amount_interval(top.low, top.high) if top else "–",
            )
        )
    return Table(("role", "heads", "highest score", "mean", "95 % interval"), tuple(rows))
