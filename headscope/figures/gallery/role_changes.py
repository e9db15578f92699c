"""How scores changed with fine-tuning, per role and third of the layers (Pande et al., Fig. 6)."""

from __future__ import annotations

import math
from typing import Any

import altair as alt

from headscope.figures import wording
from headscope.figures.picture import Chart, Picture, Table
from headscope.figures.registered import RunLike, figure
from headscope.figures.role_names import looks
from headscope.figures.theme import OKABE_ITO

NOTE = (
    "A point is the change of the mean score over all heads of a third of the layers, the line its "
    "95 % interval over sequences that both models read; right of 0 the heads attend more to the "
    "role's tokens after fine-tuning. The intervals are not corrected for looking at many roles. "
    "A role is gained or lost when its test passes in one model only, which may be chance where "
    "the change is small."
)


@figure("role_changes", tables=("role_changes",), order=48)
def role_changes(run: RunLike) -> Picture:
    """One panel per third, a row per role, a colour per model."""
    rows = run.table("role_changes").to_pylist()
    moves = run.table("role_moves").to_pylist() if "role_moves" in run.tables else []
    labels = {look.name: look.label for look in looks({row["role"] for row in rows})}
    names = list(labels.values())
    models = list(dict.fromkeys(row["model"] for row in rows))
    stacks = list(dict.fromkeys(row["stack"] for row in rows))
    data = [
        {
            **{k: row[k] for k in ("model", "third", "stack", "n")},
            "role": labels[row["role"]],
            **{k: _finite(row[k]) for k in ("change", "ci_low", "ci_high")},
        }
        for row in rows
    ]
    reach = max(
        (abs(v) for r in data for v in (r["ci_low"], r["ci_high"]) if v is not None), default=1
    )
    panels = []
    for stack in stacks:
        for third in dict.fromkeys(row["third"] for row in rows if row["stack"] == stack):
            here = [r for r in data if r["third"] == third and r["stack"] == stack]
            title = f"{wording.capital(third)} layers" + ("" if stack == "self" else f", {stack}")
            panels.append(_panel(here, names, models, 1.05 * reach, title))
    chart: Chart = alt.concat(*panels, columns=3)
    return Picture(
        title="What fine-tuning changed in the roles",
        sentence=found(rows, moves),
        chart=chart,
        alt=f"Changes of scores by role and third of the layers. {found(rows, moves)}",
        note=NOTE,
        table=_table(moves),
        prominence=8,
    )


def _panel(
    rows: list[dict[str, Any]], names: list[str], models: list[str], reach: float, title: str
) -> Chart:
    palette = [OKABE_ITO[c] for c in ("blue", "vermillion", "green", "purple", "orange", "sky")]
    colour = alt.Color(
        "model:N",
        scale=alt.Scale(domain=models, range=[palette[i % 6] for i in range(len(models))]),
        legend=alt.Legend(title=None, orient="bottom") if len(models) > 1 else None,
    )
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        y=alt.Y("role:N", title=None, scale=alt.Scale(domain=names)),
        yOffset=alt.YOffset("model:N", scale=alt.Scale(domain=models)),
        color=colour,
        tooltip=[
            alt.Tooltip("model:N"),
            alt.Tooltip("role:N"),
            alt.Tooltip("change:Q", format="+.3f"),
            alt.Tooltip("ci_low:Q", title="from", format="+.3f"),
            alt.Tooltip("ci_high:Q", title="to", format="+.3f"),
            alt.Tooltip("n:Q", title="sequences"),
        ],
    )
    domain = alt.Scale(domain=[-reach, reach], nice=False)
    return alt.layer(
        alt.Chart(alt.InlineData(values=[{"x": 0}])).mark_rule(style="reference").encode(x="x:Q"),
        base.mark_rule(strokeWidth=2).encode(
            x=alt.X("ci_low:Q", title="change of the mean score", scale=domain), x2="ci_high:Q"
        ),
        base.mark_circle(size=48, opacity=1).encode(x=alt.X("change:Q", scale=domain)),
    ).properties(width=210, height=max(20 * len(names), 60), title=title)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def found(rows: list[dict[str, Any]], moves: list[dict[str, Any]]) -> str:
    """Which third changed most, the largest change, and how many roles moved."""
    known = [row for row in rows if math.isfinite(row["change"])]
    if not known:
        return "No role has scores in both models."
    size: dict[str, list[float]] = {}
    for row in known:
        size.setdefault(row["third"], []).append(abs(row["change"]))
    mean = {third: sum(values) / len(values) for third, values in size.items()}
    most = max(mean, key=lambda third: mean[third])
    top = max(known, key=lambda row: abs(row["change"]))
    label = looks([top["role"]])[0].label
    gained = sum(move["move"] == "gained" for move in moves)
    return (
        f"Scores change most in the {most} layers ({mean[most]:.2f} on average over roles); the "
        f"largest change is that of {label} in the {top['third']} layers, {top['change']:+.2f} "
        f"({wording.support(wording.amount_interval(top['ci_low'], top['ci_high']), top['n'])}); "
        f"heads gained {wording.plural(gained, 'role')} and lost {len(moves) - gained}."
    )


def _table(moves: list[dict[str, Any]]) -> Table | None:
    if not moves:
        return None
    rows = tuple(
        (
            f"{m['layer'] + 1}-{m['head'] + 1}",
            looks([m["role"]])[0].label,
            m["move"],
            f"{m['mean_before']:.2f}",
            f"{m['mean_after']:.2f}",
            wording.amount_interval(m["ci_low"], m["ci_high"]),
            m["model"],
        )
        for m in moves[:40]
    )
    columns = ("head", "role", "move", "before", "after", "95 % interval of the change", "model")
    return Table(columns, rows)
