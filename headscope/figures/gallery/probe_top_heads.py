"""Last layer, best layer and the best heads together (Jo & Myaeng 2020, Table 3)."""

from __future__ import annotations

import statistics
from typing import Any, Final

import altair as alt

from headscope.figures import wording
from headscope.figures.picture import Picture, Table
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

_COLOURS: Final = (OKABE_ITO["orange"], OKABE_ITO["sky"], OKABE_ITO["vermillion"])

NOTE = (
    "Test scores of classifiers on the hidden state of the last layer, of the layer that is best "
    "on validation rows, and on the outputs of as many heads as a layer has, chosen one by one on "
    "validation rows and put side by side: vectors of the same width. Lines are 95 % intervals "
    "over test rows; the small line across is what shuffled labels give."
)


@figure("probe_top_heads", tables=("probe", "probe_tasks"), order=72)
def probe_top_heads(run: RunLike) -> Picture:
    """Three points per task."""
    scores = scores_of(run)
    n = plain_width(scores)
    kinds = ("last layer", "best layer", f"top {n} heads")
    tasks = in_order(s.task for s in scores)
    rows: list[dict[str, Any]] = []
    for task in tasks:
        for kind, score in zip(kinds, _three(scores, task, n), strict=True):
            if score is not None:
                rows.append(
                    {
                        "task": task_label(task),
                        "kind": kind,
                        "test": float(f"{score.test:.5g}"),
                        "low": float(f"{score.low:.5g}"),
                        "high": float(f"{score.high:.5g}"),
                        "chance": float(f"{score.chance:.5g}"),
                        "shown": shown(score.test, score.metric),
                        "n": score.n,
                    }
                )
    y = alt.Y(
        "task:N",
        title=None,
        sort=[task_label(t) for t in tasks],
        axis=alt.Axis(labelLimit=220, labelFontSize=12, grid=True),
    )
    offset = alt.YOffset("kind:N", sort=list(kinds))
    colour = alt.Color(
        "kind:N",
        sort=list(kinds),
        scale=alt.Scale(domain=list(kinds), range=list(_COLOURS)),
        legend=alt.Legend(title=None, orient="top", symbolType="circle"),
    )
    base = alt.Chart(alt.NamedData(name="scores")).encode(y=y, yOffset=offset)
    x = alt.X(
        "test:Q",
        title="score on test rows",
        scale=alt.Scale(zero=False, padding=14),
        axis=alt.Axis(format=".2f", tickCount=7),
    )
    tips = [
        alt.Tooltip("task:N"),
        alt.Tooltip("kind:N", title="vector"),
        alt.Tooltip("shown:N", title="test score"),
        alt.Tooltip("low:Q", title="95 % interval from", format=".3f"),
        alt.Tooltip("high:Q", title="to", format=".3f"),
        alt.Tooltip("chance:Q", title="shuffled labels", format=".3f"),
        alt.Tooltip("n:Q", title="test rows", format=","),
    ]
    chart = alt.layer(
        base.mark_rule(strokeWidth=2, opacity=0.5).encode(
            x=alt.X("low:Q"), x2="high:Q", color=colour
        ),
        base.mark_tick(style="reference", thickness=1.5, size=9, strokeDash=[]).encode(
            x=alt.X("chance:Q")
        ),
        base.mark_circle(size=70, opacity=1).encode(x=x, color=colour, tooltip=tips),
    ).properties(width=520, height=46 * max(1, len(tasks)))
    chart.datasets = {"scores": rows}
    sentence = found(scores)
    return Picture(
        title="Last layer, best layer, best heads",
        sentence=sentence,
        chart=chart,
        alt=f"Three points with intervals per task. {sentence}",
        note=NOTE,
        table=_table(scores, tasks, n),
        prominence=8,
    )


def _three(
    scores: list[Score], task: str, n: int
) -> tuple[Score | None, Score | None, Score | None]:
    return (
        pick(scores, task, "last"),
        pick(scores, task, "best"),
        pick(scores, task, "top_n", n),
    )


def found(scores: list[Score]) -> str:
    """On how many tasks the heads beat the layers, and by how much."""
    n = plain_width(scores)
    compared = []
    for task in in_order(s.task for s in scores):
        last, best, top = _three(scores, task, n)
        if last is not None and best is not None and top is not None:
            compared.append((task, last, best, top))
    if not compared:
        return "No heads were put side by side."
    margins = {
        task: (top.test - last.test, top.test - best.test) for task, last, best, top in compared
    }
    over_last = [t for t, (a, _) in margins.items() if a > 0]
    over_best = [t for t, (_, b) in margins.items() if b > 0]
    apart = [t for t, last, _, top in compared if top.low > last.high]
    middle = statistics.median(a for a, _ in margins.values()) * 100
    sentence = (
        f"The {n} heads that do best on validation rows beat the last layer on {len(over_last)} of "
        f"{wording.plural(len(compared), 'task')} (median {middle:+.1f} points; on {len(apart)} "
        f"the intervals are apart) and the best layer on {len(over_best)}"
    )
    losers = [task_label(t) for t in margins if t not in over_last]
    return f"{sentence}; not on {wording.listed(losers)}." if losers else f"{sentence}."


def _table(scores: list[Score], tasks: list[str], n: int) -> Table:
    rows = []
    for task in tasks:
        last, best, top = _three(scores, task, n)
        if last is None or best is None:
            continue
        gain = "" if top is None else f"{(top.test - last.test) * 100:+.1f}"
        rows.append(
            (
                task_label(task),
                last.metric,
                shown(last.test, last.metric),
                f"{shown(best.test, best.metric)} (layer {(best.layer or 0) + 1})",
                "no data" if top is None else shown(top.test, top.metric),
                gain,
                shown(last.chance, last.metric),
            )
        )
    columns = (
        "task", "metric", "last layer", "best layer", f"top {n} heads", "points over last",
        "shuffled labels",
    )  # fmt: skip
    return Table(columns, tuple(rows))
