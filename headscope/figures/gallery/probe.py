"""What every head stores, one heat map per task (Jo & Myaeng 2020, Figure 7)."""

from __future__ import annotations

from headscope.figures import wording
from headscope.figures.heatmap import Cells
from headscope.figures.layout import arranged
from headscope.figures.picture import Chart, Picture, Table
from headscope.figures.probe_panels import (
    READ_AS,
    best_gains,
    best_head,
    cell_records,
    score_panel,
    shape,
)
from headscope.figures.probe_scores import Score, in_order, scores_of, shown, task_label
from headscope.figures.registered import RunLike, figure
from headscope.types import Stack

NOTE = (
    "A classifier sees one head's output at one token of the sentence and nothing else. "
    f"{READ_AS} A high value says that a linear classifier can read the property off the head's "
    "output, not that the model uses it; and what the head writes may have been written into its "
    "input by earlier layers."
)


@figure("probe", tables=("probe", "probe_tasks"), order=70)
def probe(run: RunLike) -> Picture:
    """Heads in their places."""
    scores = [s for s in scores_of(run) if s.representation == "head"]
    sentence = found(scores)
    return Picture(
        title="What each head's output stores",
        sentence=sentence,
        chart=panels(scores),
        alt=f"Heat maps of layer by head, one per probing task. {sentence}",
        note=NOTE,
        table=_table(scores),
        prominence=6,
    )


def panels(scores: list[Score]) -> Chart:
    """A panel per task, heads in their places."""
    cells = Cells.of(*shape(scores), width=216)
    made: list[Chart] = [
        score_panel(
            f"/{task}",
            across="head",
            cells=cells,
            title=wording.capital(task_label(task)),
            subtitle=best_head([s for s in scores if s.task == task]),
        )
        for task in in_order(s.task for s in scores)
    ]
    stack: Stack = scores[0].stack if scores else "self"
    records = cell_records(scores, best_gains(scores))
    return arranged({stack: made}, columns=4, colour="shared", data={"cells": records})


def chosen(scores: list[Score]) -> dict[str, Score]:
    """Of every task the head that validation prefers: its test score is an honest one."""
    picked: dict[str, Score] = {}
    for s in scores:
        if s.task not in picked or s.standing > picked[s.task].standing:
            picked[s.task] = s
    return picked


def found(scores: list[Score]) -> str:
    """The task that a single head knows best, and how many heads know something of each."""
    best = chosen(scores)
    if not best:
        return "No head was probed."
    top = max(best.values(), key=lambda s: (s.gain == s.gain, s.gain))
    head = top.head_value().head
    sure = {task: sum(s.sure for s in scores if s.task == task) for task in best}
    n_heads = len({s.head_value().head for s in scores})
    low, high = min(sure, key=lambda t: sure[t]), max(sure, key=lambda t: sure[t])
    sentence = (
        f"Of {wording.plural(len(best), 'task')}, {task_label(top.task)} is what one head alone "
        f"tells best: {head}, chosen on validation rows, scores {shown(top.test, top.metric)} on "
        f"{wording.count(top.n)} test rows ({shown(top.chance, top.metric)} after learning "
        f"shuffled labels)"
    )
    if low == high:
        return f"{sentence}; {sure[low]} of {n_heads} heads are above chance (q ≤ 5 %)."
    return (
        f"{sentence}; above chance (q ≤ 5 %) are from {sure[low]} of {n_heads} heads "
        f"({task_label(low)}) to {sure[high]} ({task_label(high)})."
    )


def _table(scores: list[Score]) -> Table:
    best = chosen(scores)
    rows = []
    for task in in_order(best):
        s = best[task]
        mine = [o for o in scores if o.task == task]
        rows.append(
            (
                task_label(task),
                s.metric,
                str(s.head_value().head),
                shown(s.validation, s.metric),
                shown(s.test, s.metric),
                f"{shown(s.low, s.metric)} – {shown(s.high, s.metric)}",
                shown(s.chance, s.metric),
                str(sum(o.sure for o in mine)),
                wording.count(s.n),
            )
        )
    columns = (
        "task", "metric", "best head", "validation", "test", "95 % interval", "shuffled labels",
        "heads above chance", "test rows",
    )  # fmt: skip
    return Table(columns, tuple(rows))
