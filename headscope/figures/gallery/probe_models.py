"""Heads of several models, or of one before and after fine-tuning (Jo & Myaeng 2020, Fig. 3, 4)."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import pyarrow.compute as pc

from headscope.figures import wording
from headscope.figures.heatmap import Cells
from headscope.figures.picture import Chart, Picture, Table
from headscope.figures.probe_panels import (
    READ_AS,
    best_gains,
    best_head,
    cell_records,
    score_panel,
    shape,
)
from headscope.figures.probe_scores import (
    Score,
    in_order,
    pick,
    plain_width,
    read_scores,
    shown,
    task_label,
)
from headscope.figures.registered import RunLike, figure

NOTE = (
    "The heat maps of one model after those of another; every task has one scale for all models. "
    "The heads of a layer stand in the order of their scores, the best at the left, as in the "
    "paper's figures; hover to see which head it is. A model with more layers has more rows of "
    f"cells in the same height. {READ_AS}"
)
_WIDTH, _HEIGHT = 180, 120


@figure("probe_models", tables=("probe_compared", "probe_tasks_compared"), order=75)
def probe_models(run: RunLike) -> Picture:
    """Models side by side."""
    by_model = scores_by_model(run)
    heads = {m: [s for s in found if s.representation == "head"] for m, found in by_model.items()}
    tasks = in_order(s.task for found in heads.values() for s in found)
    best = best_gains([s for found in heads.values() for s in found])
    rows: list[Chart] = []
    records: list[dict[str, Any]] = []
    for model, scores in heads.items():
        records += cell_records(scores, best, model)
        n_layers, n_heads = shape(scores)
        panels = [
            score_panel(
                f"{model}/{task}",
                across="place",
                cells=Cells(n_layers, n_heads, _WIDTH, _HEIGHT),
                title=wording.capital(task_label(task)),
                subtitle=best_head([s for s in scores if s.task == task]),
            )
            for task in tasks
        ]
        title = {"text": model, "fontSize": 14, "fontWeight": 700, "offset": 10}
        rows.append(alt.concat(*panels, columns=4, title=title))
    chart = alt.vconcat(*rows, spacing=34).resolve_scale(color="shared")
    chart.datasets = {"cells": records}
    sentence = found_in(by_model, tasks)
    return Picture(
        title="The same probes on several models",
        sentence=sentence,
        chart=chart,
        alt=f"Rows of heat maps, one row per model, one column per task. {sentence}",
        note=NOTE,
        table=_table(by_model, tasks),
        prominence=9,
    )


def scores_by_model(run: RunLike) -> dict[str, list[Score]]:
    """The scores of every model, in the order of the comparison."""
    table, about = run.table("probe_compared"), run.table("probe_tasks_compared")
    names = dict.fromkeys(table.column("model").to_pylist())
    return {
        name: read_scores(
            table.filter(pc.equal(table.column("model"), name)),
            about.filter(pc.equal(about.column("model"), name)),
        )
        for name in names
    }


def found_in(by_model: dict[str, list[Score]], tasks: list[str]) -> str:
    """How much the heads know on average in each model, and whether they are the same heads."""
    names = list(by_model)
    if len(names) < 2 or not tasks:
        return "There is nothing to compare."
    means = {name: _mean_gain(scores) for name, scores in by_model.items()}
    told = wording.listed([f"{name} {means[name] * 100:.1f}" for name in names])
    sentence = (
        f"Averaged over heads and {wording.plural(len(tasks), 'task')}, probes score this many "
        f"points above shuffled labels: {told}"
    )
    first = _gains(by_model[names[0]])
    likeness = []
    for name in names[1:]:
        other = _gains(by_model[name])
        if first.keys() == other.keys() and len(first) > 3:
            r = float(np.corrcoef(list(first.values()), [other[k] for k in first])[0, 1])
            likeness.append(f"{name} r = {r:.2f}")
    if not likeness:
        return f"{sentence}."
    return (
        f"{sentence}. Head by head the scores correlate with those of {names[0]}: "
        f"{wording.listed(likeness)}."
    )


def _gains(scores: list[Score]) -> dict[tuple[str, int, int], float]:
    heads = (s for s in scores if s.representation == "head")
    return {(s.task, s.layer or 0, s.head or 0): s.gain for s in heads}


def _mean_gain(scores: list[Score]) -> float:
    gains = list(_gains(scores).values())
    return sum(gains) / len(gains) if gains else float("nan")


def _table(by_model: dict[str, list[Score]], tasks: list[str]) -> Table:
    rows = []
    for task in tasks:
        for model, scores in by_model.items():
            n = plain_width(scores)
            three = (
                pick(scores, task, "last"),
                pick(scores, task, "best"),
                pick(scores, task, "top_n", n),
            )
            cells = tuple("no data" if s is None else shown(s.test, s.metric) for s in three)
            rows.append((task_label(task), model, *cells))
    return Table(("task", "model", "last layer", "best layer", "top heads"), tuple(rows))
