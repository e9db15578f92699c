"""How many heads it takes: the best n side by side (an open question of Jo & Myaeng 2020, §6.1)."""

from __future__ import annotations

from typing import Any

import altair as alt

from headscope.figures import wording
from headscope.figures.layout import balanced
from headscope.figures.picture import Chart, Picture, Table
from headscope.figures.probe_scores import (
    Score,
    in_order,
    pick,
    plain_width,
    scores_of,
    shown,
    task_label,
)
from headscope.figures.registered import RunLike, figure
from headscope.figures.theme import OKABE_ITO

NOTE = (
    "Heads are put side by side in the order of their validation scores, and a classifier is "
    "trained on the first n of them; the band is the 95 % interval over test rows. The dashed line "
    "is the last layer's hidden state, the dotted upright one marks n = the heads of a layer, "
    "where both vectors are equally wide. More heads are more features: with few rows to "
    "learn from they can hurt."
)


@figure("probe_curve", tables=("probe", "probe_tasks"), order=73)
def probe_curve(run: RunLike) -> Picture:
    """A panel per task: score over n."""
    scores = scores_of(run)
    n = plain_width(scores)
    tasks = [t for t in in_order(s.task for s in scores) if len(_curve(scores, t)) > 1]
    rows: list[dict[str, Any]] = []
    lines: list[dict[str, Any]] = []
    for task in tasks:
        for s in _curve(scores, task):
            numbers = {"test": s.test, "low": s.low, "high": s.high, "validation": s.validation}
            told = {k: float(f"{v:.5g}") for k, v in numbers.items()}
            rows.append({"task": task, "n": s.n_heads, **told})
        last = pick(scores, task, "last")
        if last is not None:
            lines.append({"task": task, "last": float(f"{last.test:.5g}"), "n": n})
    panels: list[Chart] = [_panel(task, scores) for task in tasks]
    columns = balanced(len(panels), 4) if panels else 1
    chart = alt.concat(*panels, columns=columns)
    chart.datasets = {"curve": rows, "lines": lines}
    sentence = found(scores)
    return Picture(
        title="How many heads it takes",
        sentence=sentence,
        chart=chart,
        alt=f"Curves of the test score over the number of heads, one panel per task. {sentence}",
        note=NOTE,
        table=_table(scores, tasks),
    )


def _curve(scores: list[Score], task: str) -> list[Score]:
    mine = [s for s in scores if (s.task, s.representation) == (task, "top_n")]
    return sorted(mine, key=lambda s: s.n_heads or 0)


def _panel(task: str, scores: list[Score]) -> Chart:
    curve = _curve(scores, task)
    peak = best_n(curve)
    base = alt.Chart(alt.NamedData(name="curve")).transform_filter(alt.datum.task == task)
    fixed = alt.Chart(alt.NamedData(name="lines")).transform_filter(alt.datum.task == task)
    x = alt.X(
        "n:Q",
        title="heads side by side",
        scale=alt.Scale(type="log", base=2, nice=False),
        axis=alt.Axis(grid=False, format="d", tickCount=5, labelOverlap=True),
    )
    y = alt.Y(
        "test:Q",
        title="test score",
        scale=alt.Scale(zero=False),
        axis=alt.Axis(format=".2f", tickCount=4),
    )
    blue = OKABE_ITO["blue"]
    tips = [
        alt.Tooltip("n:Q", title="heads"),
        alt.Tooltip("test:Q", title="test score", format=".3f"),
        alt.Tooltip("validation:Q", title="validation score", format=".3f"),
    ]
    return alt.layer(
        base.mark_area(opacity=0.2, color=blue).encode(x=x, y=alt.Y("low:Q"), y2="high:Q"),
        fixed.mark_rule(style="reference", strokeDash=[2, 2]).encode(x=alt.X("n:Q")),
        fixed.mark_rule(color=OKABE_ITO["orange"], strokeDash=[6, 3], strokeWidth=2).encode(
            y=alt.Y("last:Q")
        ),
        base.mark_line(color=blue, strokeWidth=2).encode(x=x, y=y),
        base.mark_circle(color=blue, size=26, opacity=1).encode(x=x, y=y, tooltip=tips),
    ).properties(
        width=190,
        height=130,
        title={
            "text": wording.capital(task_label(task)),
            "subtitle": f"validation prefers n = {peak.n_heads}: {shown(peak.test, peak.metric)}",
        },
    )


def best_n(curve: list[Score]) -> Score:
    """The n that validation prefers, the smallest of equals."""
    return max(curve, key=lambda s: (s.standing, -(s.n_heads or 0)))


def found(scores: list[Score]) -> str:
    """Whether more heads than a layer's help."""
    n = plain_width(scores)
    n_more, gains = 0, list[float]()
    for task in in_order(s.task for s in scores):
        curve = _curve(scores, task)
        plain = next((s for s in curve if s.n_heads == n), None)
        if plain is None or len(curve) < 2:
            continue
        peak = best_n(curve)
        n_more += (peak.n_heads or 0) > n
        gains.append((peak.test - plain.test) * 100)
    if not gains:
        return "No curve over the number of heads was asked for."
    mean = sum(gains) / len(gains)
    return (
        f"Validation prefers more than {n} heads on {n_more} of "
        f"{wording.plural(len(gains), 'task')}; on test rows the number it prefers is worth "
        f"{mean:+.1f} points on average over {n} heads."
    )


def _table(scores: list[Score], tasks: list[str]) -> Table:
    rows = []
    for task in tasks:
        curve = _curve(scores, task)
        peak = best_n(curve)
        first, final = curve[0], curve[-1]
        rows.append(
            (
                task_label(task),
                shown(first.test, first.metric),
                f"{peak.n_heads}",
                shown(peak.test, peak.metric),
                f"{final.n_heads}",
                shown(final.test, final.metric),
            )
        )
    columns = ("task", "best head", "n by validation", "test", "all heads: n", "test")
    return Table(columns, tuple(rows))
