"""The scores of all heads and the p-values of their tests (Pande et al. 2021, Figure 3)."""

from __future__ import annotations

import math
from typing import Any

import altair as alt
import numpy as np

from headscope.figures import theme, wording
from headscope.figures.picture import Chart, Picture, Table
from headscope.figures.registered import RunLike, figure
from headscope.figures.role_names import RoleTable, looks, read_roles

NOTE = (
    "Left: the share of single scores (one per head, role and sequence) up to a value; 1 is "
    "attention as to any other token; the dashed line is the threshold τ. Thin lines are roles. "
    "Right: p-values of all heads and roles; where most lie at 0 or 1 the tests say a clear yes "
    "or a clear no, and the threshold falls into a gap."
)


@figure("role_scores", tables=("roles", "score_quantiles"), order=46)
def role_scores(run: RunLike) -> Picture:
    """Distribution of scores, and histogram of p-values."""
    roles = read_roles(run.table("roles"))
    quantiles = run.table("score_quantiles").to_pylist()
    labels = {look.name: look.label for look in looks({q["role"] for q in quantiles} - {"all"})}
    curves = [
        {
            "role": labels.get(q["role"], "all roles"),
            "share": q["share"],
            "score": float(f"{q['score']:.4g}"),
        }
        for q in quantiles
    ]
    pooled = [q for q in quantiles if q["role"] == "all"]
    top = max(2 * roles.tau, next(q["score"] for q in pooled if q["share"] >= 0.98))
    curves = [point for point in curves if point["score"] <= math.ceil(top)]
    x = alt.X(
        "score:Q",
        title="score (times the average attention)",
        scale=alt.Scale(domain=[0, math.ceil(top)], clamp=True, nice=False),
    )
    y = alt.Y("share:Q", title="share of scores up to it", axis=alt.Axis(format=".0%"))
    data = alt.Chart(alt.NamedData(name="curves"))
    tip = [
        alt.Tooltip("role:N"),
        alt.Tooltip("score:Q", format=".2f"),
        alt.Tooltip("share:Q", format=".1%"),
    ]
    scale = alt.Scale(
        domain=[look.label for look in looks(labels)],
        range=[look.colour for look in looks(labels)],
    )
    cdf = alt.layer(
        data.transform_filter("datum.role != 'all roles'")
        .mark_line(strokeWidth=1, opacity=0.75)
        .encode(x=x, y=y, color=alt.Color("role:N", scale=scale, title=None), tooltip=tip),
        data.transform_filter("datum.role == 'all roles'")
        .mark_line(strokeWidth=3, color=theme.OKABE_ITO["vermillion"])
        .encode(x=x, y=y, tooltip=tip),
        alt.Chart(alt.InlineData(values=[{"score": roles.tau}]))
        .mark_rule(style="reference")
        .encode(x=x),
    ).properties(width=330, height=230, title=alt.Title("Scores", subtitle="thick: all roles"))
    counts, _ = np.histogram(_p_values(roles), bins=20, range=(0, 1))
    bins = [
        {"low": i / 20, "high": (i + 1) / 20, "n": int(n), "clear": i in (0, 19)}
        for i, n in enumerate(counts)
    ]
    bars = (
        alt.Chart(alt.NamedData(name="p_values"))
        .mark_bar(binSpacing=1)
        .encode(
            x=alt.X("low:Q", bin="binned", title="p-value"),
            x2="high:Q",
            y=alt.Y("n:Q", title="heads × roles"),
            color=alt.condition(
                "datum.clear",
                alt.value(theme.OKABE_ITO["blue"]),
                alt.value(theme.OKABE_ITO["orange"]),
            ),
            tooltip=[
                alt.Tooltip("low:Q"),
                alt.Tooltip("high:Q"),
                alt.Tooltip("n:Q", title="tests"),
            ],
        )
        .properties(
            width=300,
            height=230,
            title=alt.Title("p-values", subtitle="orange: between 0.05 and 0.95"),
        )
    )
    chart: Chart = alt.hconcat(cdf, bars, spacing=36).resolve_scale(color="independent")
    chart.datasets = {"curves": curves, "p_values": bins}
    return Picture(
        title="How scores are distributed, and how clear the tests are",
        sentence=found(roles, pooled),
        chart=chart,
        alt=f"A cumulative distribution and a histogram. {found(roles, pooled)}",
        note=NOTE,
        table=_table(roles, quantiles),
        prominence=1,
    )


def _p_values(roles: RoleTable) -> list[float]:
    return [row.p_value for row in roles.rows if not math.isnan(row.p_value)]


def found(roles: RoleTable, pooled: list[dict[str, Any]]) -> str:
    """The share of scores above τ, and of p-values that decide nothing."""
    above = 1 - float(
        np.interp(roles.tau, [q["score"] for q in pooled], [q["share"] for q in pooled])
    )
    p_values = _p_values(roles)
    between = sum(0.05 < p < 0.95 for p in p_values) / len(p_values) if p_values else math.nan
    return (
        f"{wording.percent(above)} of the single scores lie above τ = {roles.tau:g}; "
        f"{wording.percent(between)} of {wording.count(len(p_values))} p-values lie in "
        "(0.05, 0.95), so that "
        + ("almost every test is clear." if between < 0.05 else "some tests leave it open.")
    )


def _table(roles: RoleTable, quantiles: list[dict[str, Any]]) -> Table:
    rows = []
    for look in looks({row.role for row in roles.rows}):
        points = {q["share"]: q["score"] for q in quantiles if q["role"] == look.name}
        cells = [f"{points[s]:.2f}" if s in points else wording.NO_DATA for s in (0.1, 0.5, 0.9)]
        mine = [row for row in roles.rows if row.role == look.name]
        between = sum(0.05 < row.p_value < 0.95 for row in mine)
        rows.append((look.label, *cells, f"{between} of {len(mine)}"))
    return Table(("role", "10 % below", "median", "90 % below", "unclear tests"), tuple(rows))
