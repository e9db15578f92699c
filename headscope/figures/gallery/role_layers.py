"""How roles are spread over the layers (Pande et al. 2021, "How are functional roles …")."""

from __future__ import annotations

import altair as alt

from headscope.figures import wording
from headscope.figures.picture import Chart, Picture, Table
from headscope.figures.registered import RunLike, figure
from headscope.figures.role_names import RoleTable, distinct, looks, read_roles
from headscope.figures.theme import STACK_TITLES
from headscope.types import STACKS, Stack

NOTE = (
    "A cell counts the heads of a layer that have a role; darker is a larger share of the layer's "
    "heads. Several roles are those of different kinds: a head with [CLS] is not counted again for "
    "delimiter, nor an object head for syntactic."
)
_EXTRA = {"several": "several roles", "none": "no role"}


@figure("role_layers", tables=("roles",), order=42)
def role_layers(run: RunLike) -> Picture:
    """Roles down, layers across."""
    roles = read_roles(run.table("roles"))
    stacks = [s for s in STACKS if any(h.stack == s for h in roles.heads)]
    panels = [_panel(stack, roles) for stack in stacks]
    chart: Chart = panels[0] if len(panels) == 1 else alt.vconcat(*panels)
    return Picture(
        title="Where in the model the roles are",
        sentence=found(roles),
        chart=chart,
        alt=f"A heat map of roles by layer. {found(roles)}",
        note=NOTE,
        table=_table(roles, stacks[0]) if len(stacks) == 1 else None,
        prominence=3,
    )


def counts(roles: RoleTable, stack: Stack) -> dict[str, list[int]]:
    """Heads per layer, for every role, for several roles and for none."""
    skills = {head: own for head, own in roles.skills().items() if head.stack == stack}
    n_layers = max(head.layer for head in skills) + 1
    present = {row.role for row in roles.rows if row.head.stack == stack}
    found: dict[str, list[int]] = {}
    for look in looks(present):
        found[look.name] = [0] * n_layers
    for name in _EXTRA:
        found[name] = [0] * n_layers
    for head, own in skills.items():
        for role in own:
            found[role][head.layer] += 1
        found["several"][head.layer] += len(distinct(own)) > 1
        found["none"][head.layer] += not own
    return found


def _labels(names: list[str]) -> dict[str, str]:
    return {look.name: look.label for look in looks(set(names) - _EXTRA.keys())} | _EXTRA


def _panel(stack: Stack, roles: RoleTable) -> Chart:
    table = counts(roles, stack)
    labels = _labels(list(table))
    n_layers = len(next(iter(table.values())))
    n_heads = max(h.head for h in roles.heads if h.stack == stack) + 1
    rows = [
        {"role": labels[role], "layer": layer + 1, "n": n, "share": n / n_heads}
        for role, per_layer in table.items()
        for layer, n in enumerate(per_layer)
    ]
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=alt.X("layer:O", title="layer", scale=alt.Scale(domain=list(range(1, n_layers + 1)))),
        y=alt.Y("role:N", title=None, scale=alt.Scale(domain=[labels[name] for name in table])),
        tooltip=[
            alt.Tooltip("role:N"),
            alt.Tooltip("layer:O"),
            alt.Tooltip("n:Q", title="heads"),
            alt.Tooltip("share:Q", title="of the layer", format=".0%"),
        ],
    )
    colour = alt.Color(
        "share:Q",
        scale=alt.Scale(scheme="blues", domain=[0, 1]),
        legend=alt.Legend(
            title="share of the layer's heads", format=".0%", orient="top", values=[0, 0.5, 1]
        ),
    )
    return alt.layer(
        base.transform_filter("datum.n == 0").mark_rect(style="no_data"),
        base.transform_filter("datum.n > 0").mark_rect().encode(color=colour),
        base.transform_filter("datum.n > 0")
        .mark_text(fontSize=10)
        .encode(
            text="n:Q",
            color=alt.condition("datum.share > 0.55", alt.value("#ffffff"), alt.value("#24292f")),
        ),
    ).properties(
        width=max(260, min(640, 46 * n_layers)),
        height=21 * len(table),
        title="" if stack == "self" else STACK_TITLES[stack].capitalize(),
    )


def found(roles: RoleTable) -> str:
    """Which third of the layers has most heads with several roles."""
    stack = roles.heads[0].stack
    table = counts(roles, stack)
    several, n_layers = table["several"], len(table["several"])
    if not any(several):
        return "No head has several roles of different kinds."
    top = max(range(n_layers), key=lambda layer: several[layer])
    syntactic = table.get("syntactic")
    extra = ""
    if syntactic and any(syntactic):
        best = max(range(n_layers), key=lambda layer: syntactic[layer])
        extra = (
            f"; syntactic heads are most numerous in layer {best + 1} "
            f"({syntactic[best]} of {sum(syntactic)})"
        )
    return (
        f"Layer {top + 1} has the most heads with several roles of different kinds "
        f"({wording.plural(several[top], 'head')} of {sum(several)} such heads){extra}."
    )


def _table(roles: RoleTable, stack: Stack) -> Table:
    table = counts(roles, stack)
    labels = _labels(list(table))
    n_layers = len(next(iter(table.values())))
    columns = ("role", *(f"layer {i + 1}" for i in range(n_layers)))
    return Table(columns, tuple((labels[r], *map(str, row)) for r, row in table.items()))
