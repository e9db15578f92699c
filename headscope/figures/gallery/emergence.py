"""Roles over the checkpoints of one training run."""

from __future__ import annotations

import math
from typing import Any

import altair as alt

from headscope.figures import wording
from headscope.figures.picture import Picture, Table
from headscope.figures.registered import RunLike, figure
from headscope.figures.role_names import RoleLook, looks

NOTE = (
    "Left: the share of heads that have a role at a training step, by the same test at every "
    "checkpoint. Right: the mean score over all heads; 1 is indifference, the dashed line is where "
    "a role begins. A line says how many heads attend to a role's tokens, not that they are the "
    "same heads throughout. Click a role in the legend to see it alone."
)
_ANY = "any role"
_N_TABLE = 12


@figure("emergence", tables=("emergence",), order=47)
def emergence(run: RunLike) -> Picture:
    """Two panels of lines, one line per role."""
    rows = [r for r in run.table("emergence").to_pylist() if r["role"] != _ANY]
    shown = looks({r["role"] for r in rows})
    labels = {look.name: look.label for look in shown}
    data = [
        {
            "step": r["step"],
            "role": labels[r["role"]],
            "share": r["share"],
            "score": None if math.isnan(r["mean_score"]) else r["mean_score"],
            "n_heads": r["n_heads"],
        }
        for r in rows
        if r["stack"] == rows[0]["stack"]
    ]
    pick = alt.selection_point(name="picked_role", fields=["role"], bind="legend")
    panels = [
        _panel(data, shown, pick, "share", "share of heads with the role", "%").add_params(pick),
        _panel(data, shown, pick, "score", "mean score over heads", ".1f"),
    ]
    sentence = found(run.table("emergence").to_pylist())
    return Picture(
        title="How roles emerge during training",
        sentence=sentence,
        chart=alt.hconcat(*panels),
        alt=f"Lines by training step, one per role. {sentence}",
        note=NOTE,
        table=_table(rows, shown),
        prominence=9,
    )


def _panel(
    data: list[dict[str, Any]],
    shown: list[RoleLook],
    pick: Any,
    field: str,
    title: str,
    form: str,
) -> Any:
    colour = alt.Color(
        "role:N",
        title=None,
        scale=alt.Scale(
            domain=[look.label for look in shown], range=[look.colour for look in shown]
        ),
    )
    base = alt.Chart(alt.InlineData(values=data)).encode(
        x=alt.X("step:Q", title="training step", scale=alt.Scale(nice=False, padding=8)),
        y=alt.Y(f"{field}:Q", title=title, axis=alt.Axis(format=form)),
        color=colour,
        opacity=alt.condition(pick, alt.value(1.0), alt.value(0.12)),
        tooltip=[
            alt.Tooltip("role:N"),
            alt.Tooltip("step:Q", title="training step"),
            alt.Tooltip("n_heads:Q", title="heads with the role"),
            alt.Tooltip("share:Q", title="of all heads", format=".0%"),
            alt.Tooltip("score:Q", title="mean score", format=".2f"),
        ],
    )
    layers = [base.mark_line(strokeWidth=2), base.mark_point(filled=True, size=36)]
    if field == "score":
        rule = alt.Chart(alt.InlineData(values=[{"y": 3.0}]))
        layers.insert(0, rule.mark_rule(style="reference", strokeDash=[4, 3]).encode(y="y:Q"))
    return alt.layer(*layers).properties(width=330, height=260)


def found(rows: list[dict[str, Any]]) -> str:
    """Which role most heads end up with, and when it came."""
    steps = sorted({r["step"] for r in rows})
    first, last = steps[0], steps[-1]
    ends = {r["role"]: r for r in rows if r["step"] == last}
    starts = {r["role"]: r for r in rows if r["step"] == first}
    some = ends.get(_ANY)
    own = {role: r for role, r in ends.items() if role != _ANY}
    if some is None or not any(r["n_heads"] for r in own.values()):
        return f"No head has a role at any checkpoint up to step {last:,}."
    n = some["n"]
    best = max(own.values(), key=lambda r: (r["n_heads"], r["mean_score"]))
    label = looks([best["role"]])[0].label
    half = best["share"] / 2
    when = next(
        r["step"]
        for r in sorted((r for r in rows if r["role"] == best["role"]), key=lambda r: r["step"])
        if r["share"] >= half
    )
    began = starts[_ANY]["n_heads"] if _ANY in starts else 0
    return (
        f"{wording.plural(began, 'head')} of {n} have a role at step {first:,} and "
        f"{some['n_heads']} at step {last:,}; the most frequent role is then {label} "
        f"({wording.plural(best['n_heads'], 'head')}), half of it reached by step {when:,}."
    )


def _table(rows: list[dict[str, Any]], shown: list[RoleLook]) -> Table:
    steps = sorted({r["step"] for r in rows})
    kept = steps if len(steps) <= _N_TABLE else steps[:: math.ceil(len(steps) / _N_TABLE)]
    cells = {(r["role"], r["step"]): f"{r['n_heads']} ({r['mean_score']:.2f})" for r in rows}
    return Table(
        ("heads (mean score)", *(f"step {step:,}" for step in kept)),
        tuple(
            (look.label, *(cells.get((look.name, step), "–") for step in kept)) for look in shown
        ),
    )
