"""How many heads of a layer store something (Jo & Myaeng 2020, Figures 3 and 6)."""

from __future__ import annotations

import math
from collections import defaultdict

import altair as alt

from headscope.figures import wording
from headscope.figures.gallery.probe import gain_colour
from headscope.figures.head_values import HeadValue, Records, shape_of
from headscope.figures.heatmap import Cells, ticks
from headscope.figures.layout import arranged
from headscope.figures.picture import Chart, Picture
from headscope.figures.probe_scores import Score, in_order, scores_of, task_label
from headscope.figures.registered import RunLike, figure
from headscope.types import Stack

NOTE = (
    "The same scores as above, but the heads of a layer stand in the order of their scores, the "
    "best at the left: how far a row stays bright tells how many heads of the layer store the "
    "property. The order differs from panel to panel."
)


@figure("probe_sorted", tables=("probe", "probe_tasks"), order=71)
def probe_sorted(run: RunLike) -> Picture:
    """Heads sorted within their layer."""
    scores = [s for s in scores_of(run) if s.representation == "head"]
    values = [s.head_value() for s in scores]
    stack: Stack = scores[0].stack if scores else "self"
    cells = Cells.of(*shape_of(values, stack), width=216)
    colour = gain_colour(values)
    tasks = in_order(s.task for s in scores)
    charts = [_panel(task, cells, colour, layers_of(values, task)) for task in tasks]
    chart = arranged(
        {stack: charts}, columns=4, colour="shared", data={"sorted": sorted_records(values)}
    )
    sentence = found(scores, values)
    return Picture(
        title="How many heads of a layer store it",
        sentence=sentence,
        chart=chart,
        alt=f"Heat maps of layers by heads in order of their scores. {sentence}",
        note=NOTE,
    )


def sorted_records(values: list[HeadValue]) -> Records:
    """One record per head and task with its place in its layer, best first."""
    groups: dict[tuple[str, int], list[HeadValue]] = defaultdict(list)
    for v in values:
        groups[v.what, v.head.layer].append(v)
    records: Records = []
    for (task, layer), heads in groups.items():
        for place, v in enumerate(sorted(heads, key=lambda v: (-v.value, v.head.head)), 1):
            records.append(
                {
                    "what": task,
                    "layer": layer + 1,
                    "place": place,
                    "label": f"head {v.head}",
                    "value": float(f"{v.value:.5g}") if v.known else None,
                }
            )
    return records


def _panel(task: str, cells: Cells, colour: alt.Color, layers: dict[int, float]) -> Chart:
    best = max(layers, key=lambda layer: layers[layer]) if layers else 0
    chart: Chart = (
        alt.Chart(alt.NamedData(name="sorted"))
        .transform_filter(alt.datum.what == task)
        .mark_rect()
        .encode(
            x=alt.X(
                "place:O",
                title="place in its layer",
                scale={"paddingInner": cells.gap, "paddingOuter": 0.03},
                axis={"values": ticks(cells.n_heads)},
            ),
            y=alt.Y(
                "layer:O",
                title="layer",
                scale={"paddingInner": cells.gap, "paddingOuter": 0.03},
                axis={"values": ticks(cells.n_layers)},
            ),
            color=colour,
            tooltip=[
                alt.Tooltip("label:N", title="title"),
                alt.Tooltip("value:Q", title="above shuffled labels", format=".3f"),
            ],
        )
        .properties(
            width=cells.width,
            height=cells.height,
            title={
                "text": wording.capital(task_label(task)),
                "subtitle": f"best layer on average: {best + 1}",
            },
        )
    )
    return chart


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
