"""How many heads of a layer store something (Jo & Myaeng 2020, Figures 3 and 6)."""

from __future__ import annotations

import math
from collections import defaultdict

from headscope.figures import wording
from headscope.figures.head_values import HeadValue
from headscope.figures.heatmap import Cells
from headscope.figures.layout import arranged
from headscope.figures.picture import Chart, Picture
from headscope.figures.probe_panels import READ_AS, best_gains, cell_records, score_panel, shape
from headscope.figures.probe_scores import Score, in_order, scores_of, task_label
from headscope.figures.registered import RunLike, figure
from headscope.types import Stack

NOTE = (
    "The same scores as above, but the heads of a layer stand in the order of their scores, the "
    "best at the left: how far a row stays bright tells how many heads of the layer store the "
    f"property. The order differs from panel to panel. {READ_AS}"
)


@figure("probe_sorted", tables=("probe", "probe_tasks"), order=71)
def probe_sorted(run: RunLike) -> Picture:
    """Heads sorted within their layer."""
    scores = [s for s in scores_of(run) if s.representation == "head"]
    values = [s.head_value() for s in scores]
    stack: Stack = scores[0].stack if scores else "self"
    cells = Cells.of(*shape(scores), width=216)
    charts: list[Chart] = []
    for task in in_order(s.task for s in scores):
        layers = layers_of(values, task)
        best = max(layers, key=lambda layer: layers[layer]) if layers else 0
        charts.append(
            score_panel(
                f"/{task}",
                across="place",
                cells=cells,
                title=wording.capital(task_label(task)),
                subtitle=f"best layer on average: {best + 1}",
            )
        )
    records = cell_records(scores, best_gains(scores))
    chart = arranged({stack: charts}, columns=4, colour="shared", data={"cells": records})
    sentence = found(scores, values)
    return Picture(
        title="How many heads of a layer store it",
        sentence=sentence,
        chart=chart,
        alt=f"Heat maps of layers by heads in order of their scores. {sentence}",
        note=NOTE,
    )


def layers_of(values: list[HeadValue], task: str) -> dict[int, float]:
    """The mean gain of every layer's heads on a task."""
    found: dict[int, list[float]] = defaultdict(list)
    for v in values:
        if v.what == task and v.known:
            found[v.head.layer].append(v.value)
    return {layer: sum(x) / len(x) for layer, x in found.items()}


def found(scores: list[Score], values: list[HeadValue]) -> str:
    """In which part of the model the tasks live."""
    n_layers = 1 + max((v.head.layer for v in values), default=0)
    places: dict[str, list[str]] = {"lower": [], "upper": []}
    for task in in_order(s.task for s in scores):
        layers = layers_of(values, task)
        if not layers or all(math.isclose(x, 0, abs_tol=1e-9) for x in layers.values()):
            continue
        best = max(layers, key=lambda layer: layers[layer])
        half = "lower" if best < n_layers / 2 else "upper"
        places[half].append(f"{task_label(task)} ({best + 1})")
    parts = [
        f"in the {half} half of the layers for {wording.listed(names)}"
        for half, names in places.items()
        if names
    ]
    if not parts:
        return "No head stores any of the properties."
    return f"The layer whose heads score best on average lies {', and '.join(parts)}."
