"""Where attention matters to the loss (Clark et al. 2019, §3.2, Figure 3)."""

from __future__ import annotations

import math
from typing import Final

from headscope.figures import wording
from headscope.figures.head_values import (
    LayerMean,
    head_records,
    layer_means,
    layer_records,
    read_heads,
    shape_of,
    stacks_of,
)
from headscope.figures.layer_scatter import Series, layer_scatter
from headscope.figures.layout import arranged
from headscope.figures.picture import Chart, Picture, Table
from headscope.figures.registered import RunLike, figure
from headscope.figures.surface_targets import target
from headscope.types import Stack

#: In the order of the legend; a model has its [CLS] first, or a first token without a name.
TARGETS: Final = ("sep", "first", "cls", "punct", "other")

NOTE = (
    "How fast the model's own loss changes with a single attention weight: the mean of "
    "|∂loss/∂weight| over the rows of a sequence and the keys of a class, then over sequences. "
    "Points are heads with their 95 % intervals, lines the means of a layer's heads. Where "
    "attention to a class is high and this is low, looking there more or less changes little: "
    "such heads may be resting. Each weight is varied alone, without the others making room for "
    "it, so this is no forecast of what happens if a head is switched off."
)


@figure("gradient", tables=("gradient",), order=25)
def gradient(run: RunLike) -> Picture:
    """One panel per stack: heads and layer means of every class."""
    values = read_heads(run.table("gradient"), what="target", value="mean_abs")
    means = layer_means(values)
    ends = [x for v in values for x in (v.value, v.high) if math.isfinite(x)]
    panels: dict[Stack, list[Chart]] = {}
    for stack in stacks_of(values):
        present = {v.what for v in values if v.head.stack == stack and v.known}
        shown = [t for t in TARGETS if t in present]
        if not shown:
            continue
        panels[stack] = [
            layer_scatter(
                "heads",
                "layers",
                stack=stack,
                n_layers=shape_of(values, stack)[0],
                series=[Series(t, target(t).label, target(t).colour) for t in shown],
                title="How much the loss reacts to attention",
                subtitle="points are heads, the line is their mean",
                y_title="|∂loss/∂attention|",
                y_format="~g",
                y_domain=(0.0, max(ends, default=1.0) or 1.0),
                value_format=".3~g",
                height=290,
            )
        ]
    data = {"heads": head_records(values), "layers": layer_records(means)}
    sentence = found(means)
    return Picture(
        title="How much the loss reacts to attention to delimiters and other tokens",
        sentence=sentence,
        chart=arranged(panels, columns=2, colour="independent", data=data),
        alt=f"Scatter plot of gradient magnitudes by layer, one point per head. {sentence}",
        note=NOTE,
        table=_table(means),
        prominence=7,
    )


def found(means: list[LayerMean]) -> str:
    """Where a resting place matters least, beside ordinary tokens of the same layer."""
    known = {(m.stack, m.layer, m.what): m for m in means if not math.isnan(m.value)}
    ratios = [
        (m.value / known[m.stack, m.layer, "other"].value, m)
        for m in known.values()
        if m.what in ("sep", "first", "cls")
        and (m.stack, m.layer, "other") in known
        and known[m.stack, m.layer, "other"].value > 0
    ]
    if not ratios:
        return "No layer has data on delimiters and on other tokens."
    share, least = min(ratios, key=lambda pair: pair[0])
    deep, most = max(ratios, key=lambda pair: pair[0])
    return (
        f"The loss reacts least to attention to {target(least.what).phrase} in layer "
        f"{least.layer + 1}: {share:.2f} times as much as to other tokens there, on average over "
        f"{wording.plural(least.n_heads, 'head')}; most to {target(most.what).phrase} in layer "
        f"{most.layer + 1}, {deep:.2f} times."
    )


def _table(means: list[LayerMean]) -> Table:
    rows = []
    for m in sorted(means, key=lambda m: (m.stack, m.what, m.layer)):
        if not math.isnan(m.value):
            where = f"{m.layer + 1}" if m.stack == "self" else f"{m.stack} {m.layer + 1}"
            rows.append((target(m.what).label, where, f"{m.value:.2e}", str(m.n_heads)))
    return Table(("attention to", "layer", "mean |∂loss/∂attention|", "heads"), tuple(rows))
