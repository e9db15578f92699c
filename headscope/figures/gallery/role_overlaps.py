"""Which roles come together in a head: an UpSet plot and a Venn diagram (Pande et al., Fig. 4)."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import altair as alt

from headscope.figures import wording
from headscope.figures.head_values import Records
from headscope.figures.picture import Chart, Picture, Table
from headscope.figures.registered import RunLike, figure
from headscope.figures.role_names import COARSE, RoleLook, RoleTable, looks, read_roles
from headscope.figures.theme import OKABE_ITO
from headscope.figures.venn import venn

MOST = 24
NOTE = (
    "Below, each column is a combination of roles (dots) and the bar above it counts the heads "
    "that have exactly these; bars at the left count all heads of a role. The Venn diagram shows "
    "the coarse roles. Overlap does not prove that a head does two things: neighbours often depend "
    "on each other, so the same attention can count for both."
)


@figure("role_overlaps", tables=("roles", "role_overlaps"), order=44)
def role_overlaps(run: RunLike) -> Picture:
    """The UpSet plot of all roles, and the Venn diagram of up to four."""
    roles = read_roles(run.table("roles"))
    pairs = run.table("role_overlaps").to_pylist()
    sets = {role: heads for role, heads in roles.sets().items() if heads}
    shown = looks(sets)
    parts: list[Chart] = []
    datasets: dict[str, Records] = {}
    if shown:
        upset, data = _upset(roles, shown)
        parts.append(upset)
        datasets.update(data)
    coarse = [look for look in shown if look.name in COARSE]
    if len(coarse) < 2:  # a model without delimiters, a corpus without trees: the largest sets
        coarse = sorted(shown, key=lambda look: -len(sets[look.name]))[:4]
    if len(coarse) > 1:
        drawn = [(look.label, look.colour, set(sets[look.name])) for look in coarse]
        diagram, data = venn(drawn, title="Heads of the coarse roles")
        parts.append(diagram)
        datasets.update(data)
    if not parts:
        parts.append(alt.Chart(alt.InlineData(values=[{}])).mark_text(text="no head has a role"))
    chart: Chart = alt.vconcat(*parts, spacing=30).resolve_scale(color="independent")
    chart.datasets = datasets
    return Picture(
        title="Which roles come together in the same heads",
        sentence=found(roles, pairs),
        chart=chart,
        alt=f"An UpSet plot and a Venn diagram of the heads' roles. {found(roles, pairs)}",
        note=NOTE,
        table=_table(pairs),
        prominence=6,
    )


def combinations_of(roles: RoleTable) -> list[tuple[tuple[str, ...], int]]:
    """Every set of roles that some head has exactly, with the number of such heads; most first."""
    order = [look.name for look in looks(roles.sets())]
    found = Counter(tuple(sorted(own, key=order.index)) for own in roles.skills().values() if own)
    return sorted(found.items(), key=lambda item: (-item[1], len(item[0]), item[0]))


def _upset(roles: RoleTable, shown: list[RoleLook]) -> tuple[Chart, dict[str, Records]]:
    groups = combinations_of(roles)[:MOST]
    labels = {look.name: look.label for look in shown}
    names = list(labels.values())
    columns = [
        {"set": i, "n": n, "roles": " + ".join(labels[r] for r in own)}
        for i, (own, n) in enumerate(groups)
    ]
    dots = [
        {"set": i, "role": labels[role], "in": role in own}
        for i, (own, _) in enumerate(groups)
        for role in labels
    ]
    spans = [
        {"set": i, "first": labels[own[0]], "last": labels[own[-1]]}
        for i, (own, _) in enumerate(groups)
    ]
    sizes = [{"role": labels[r], "n": len(roles.sets()[r])} for r in labels]
    step = max(16, min(26, 620 // max(len(groups), 1)))
    width, height = step * len(groups), 19 * len(names)
    x = alt.X("set:O", axis=None, scale=alt.Scale(domain=list(range(len(groups)))))
    y = alt.Y("role:N", title=None, scale=alt.Scale(domain=names))
    tip = [alt.Tooltip("roles:N"), alt.Tooltip("n:Q", title="heads")]
    bars = alt.Chart(alt.NamedData(name="upset_columns")).encode(x=x)
    ink = OKABE_ITO["blue"]
    top = alt.layer(
        bars.mark_bar(color=ink).encode(
            y=alt.Y("n:Q", title="heads", axis=alt.Axis(tickMinStep=1)), tooltip=tip
        ),
        bars.mark_text(style="annotation", dy=-6).encode(y="n:Q", text="n:Q"),
    ).properties(width=width, height=130)
    points = alt.Chart(alt.NamedData(name="upset_dots"))
    matrix = alt.layer(
        points.mark_circle(size=70, style="no_data", opacity=1).encode(x=x, y=y),
        alt.Chart(alt.NamedData(name="upset_spans"))
        .mark_rule(strokeWidth=2, color=ink)
        .encode(x=x, y=alt.Y("first:N", scale=alt.Scale(domain=names)), y2="last:N"),
        points.transform_filter("datum.in")
        .mark_circle(size=70, opacity=1, color=ink)
        .encode(x=x, y=alt.Y("role:N", title=None, scale=alt.Scale(domain=names))),
    ).properties(width=width, height=height)
    totals = (
        alt.Chart(alt.NamedData(name="upset_sizes"))
        .mark_bar()
        .encode(
            x=alt.X("n:Q", title="heads of the role", scale=alt.Scale(reverse=True)),
            y=alt.Y("role:N", axis=None, scale=alt.Scale(domain=names)),
            color=alt.Color(
                "role:N",
                scale=alt.Scale(domain=names, range=[look.colour for look in shown]),
                legend=None,
            ),
            tooltip=[alt.Tooltip("role:N"), alt.Tooltip("n:Q", title="heads")],
        )
        .properties(width=120, height=height)
    )
    blank = (
        alt.Chart(alt.InlineData(values=[{}]))
        .mark_point(opacity=0)
        .encode(x=alt.value(0), y=alt.value(0))
        .properties(width=120, height=130)
    )
    left = alt.vconcat(blank, totals, spacing=4)
    right = alt.vconcat(top, matrix, spacing=4)
    chart: Chart = alt.hconcat(left, right, spacing=10).properties(
        title="Combinations of roles, and how many heads have exactly them"
    )
    data: dict[str, Records] = {
        "upset_columns": columns,
        "upset_dots": dots,
        "upset_spans": spans,
        "upset_sizes": sizes,
    }
    return chart, data


def pair_of(pairs: list[dict[str, Any]], a: str, b: str) -> dict[str, Any] | None:
    """The row of two roles, whichever comes first; `share` is the share of a's heads with b."""
    for row in pairs:
        if (row["role_a"], row["role_b"]) == (a, b):
            return {**row, "share": row["share_a"], "n": row["n_a"]}
        if (row["role_a"], row["role_b"]) == (b, a):
            return {**row, "share": row["share_b"], "n": row["n_b"]}
    return None


def found(roles: RoleTable, pairs: list[dict[str, Any]]) -> str:
    """How many syntactic heads are local, and how the two scores go together."""
    row = pair_of(pairs, "syntactic", "local")
    parts = []
    if row and row["n"]:
        parts.append(
            f"{row['n_both']} of {wording.plural(row['n'], 'syntactic head')} are local too"
            + (
                f" (Spearman correlation of the scores {row['spearman_scores']:.2f})"
                if not math.isnan(row["spearman_scores"])
                else ""
            )
        )
    for a, b, words in (
        ("nsubj", "next_local", "subject heads also look at the tokens after"),
        ("obj", "prev_local", "object heads also look at the tokens before"),
    ):
        row = pair_of(pairs, a, b)
        if row and row["n"]:
            parts.append(f"{row['n_both']} of {row['n']} {words}")
    if not parts:
        groups = combinations_of(roles)
        if not groups:
            return "No head has a role, so nothing overlaps."
        own, n = groups[0]
        together = wording.listed([look.label for look in looks(own)])
        return f"The most frequent combination is {together} ({wording.plural(n, 'head')})."
    return wording.capital("; ".join(parts)) + "."


def _table(pairs: list[dict[str, Any]]) -> Table:
    labels = {
        look.name: look.label for look in looks({r[k] for r in pairs for k in ("role_a", "role_b")})
    }
    top = sorted((r for r in pairs if r["n_both"]), key=lambda r: (-r["jaccard"], r["role_a"]))[:15]

    def number(value: float) -> str:
        return wording.NO_DATA if math.isnan(value) else f"{value:.2f}"

    rows = tuple(
        (
            labels[r["role_a"]],
            labels[r["role_b"]],
            str(r["n_both"]),
            number(r["jaccard"]),
            wording.percent(r["share_a"]),
            wording.percent(r["share_b"]),
            number(r["spearman_heads"]),
        )
        for r in top
    )
    columns = ("role", "and", "heads with both", "Jaccard", "of the first", "of the second",
               "Spearman over heads")  # fmt: skip
    return Table(columns, rows)
