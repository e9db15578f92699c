"""How alike two models' attention maps are, head by head (Kovaleva et al. 2019, §4.3)."""

from __future__ import annotations

import math
from dataclasses import replace

import altair as alt

from headscope.figures import theme
from headscope.figures.head_values import (
    HeadValue,
    head_records,
    layer_means,
    read_heads,
    shape_of,
    stacks_of,
)
from headscope.figures.heatmap import Cells, heatmap
from headscope.figures.layout import arranged
from headscope.figures.picture import Chart, Picture, Table
from headscope.figures.registered import RunLike, figure
from headscope.figures.wording import amount_interval, capital, plural, support
from headscope.types import Stack

PANELS = {"similarity": "before and after", "similarity_random": "before and a random twin"}
NOTE = (
    "The cosine of the same head's map in two models, flattened, over real tokens only, averaged "
    "over sequences: 1 is the same map. Weights are never negative, so that even unrelated maps "
    "are alike to some degree; the random twin, a model of the same shape that has learnt "
    "nothing, shows to which. One scale in all panels."
)


@figure("similarity", tables=("similarity",), order=70)
def similarity(run: RunLike) -> Picture:
    """Heat maps of the cosine, with the random twin's where it was measured."""
    present = [name for name in PANELS if name in run.tables]
    values = [
        replace(v, what=name)
        for name in present
        for v in read_heads(run.table(name), what="", value="cosine")
    ]
    least = min((v.value for v in values if v.known), default=0.0)
    bottom = math.floor(10 * min(least, 0.99)) / 10
    panels: dict[Stack, list[Chart]] = {}
    for stack in stacks_of(values):
        cells = Cells.of(*shape_of(values, stack), width=300)
        for name in present:
            own = [v for v in values if v.what == name and v.head.stack == stack and v.known]
            low = min(own, key=lambda v: v.value, default=None)
            panels.setdefault(stack, []).append(
                heatmap(
                    "heads",
                    stack=stack,
                    what=name,
                    cells=cells,
                    colour=_colour(bottom),
                    title=capital(PANELS[name]),
                    subtitle=f"least: {low.head}, {low.value:.3f}" if low else "no data",
                    value_title="cosine",
                    value_format=".4f",
                    has_gaps=not all(v.known for v in values),
                )
            )
    sentence = found(values)
    return Picture(
        title="How alike the heads' maps are in two models",
        sentence=sentence,
        chart=arranged(panels, columns=2, colour="shared", data={"heads": head_records(values)}),
        alt=f"Heat maps of cosine similarity, layer by head. {sentence}",
        note=NOTE,
        table=_table(values),
        prominence=10,
    )


def _colour(bottom: float) -> alt.Color:
    steps = [bottom + i * (1 - bottom) / 4 for i in range(5)]
    legend = alt.Legend(
        title="cosine",
        orient="top",
        direction="horizontal",
        gradientLength=200,
        format=".2f",
        values=steps,
    )
    scale = alt.Scale(scheme=theme.SHARE_SCHEME, domain=[bottom, 1], clamp=True)
    return alt.Color("value:Q", scale=scale, legend=legend)


def found(values: list[HeadValue]) -> str:
    """The head and the layer that changed most, and how alike a random twin is."""
    own = [v for v in values if v.what == "similarity" and v.known]
    if not own:
        return "No head has data in both models."
    low = min(own, key=lambda v: v.value)
    if low.value == 1.0:
        sentence = f"All {plural(len(own), 'head')} have exactly the same maps in both models"
    else:
        layer = min(layer_means(own), key=lambda m: m.value)
        cited = support(amount_interval(low.low, low.high), low.n)
        sentence = (
            f"Head {low.head} changed most (cosine {low.value:.3f}, {cited}), and layer "
            f"{layer.layer + 1} of all layers (mean {layer.value:.3f})"
        )
    twin = [v.value for v in values if v.what == "similarity_random" and v.known]
    if twin:
        sentence += f"; against a random twin the mean is {sum(twin) / len(twin):.3f}"
    return f"{sentence}."


def _table(values: list[HeadValue]) -> Table:
    rows = []
    for mean in layer_means(values):
        where = f"{mean.layer + 1}" if mean.stack == "self" else f"{mean.stack} {mean.layer + 1}"
        group = [
            v
            for v in values
            if (v.head.stack, v.head.layer, v.what) == (mean.stack, mean.layer, mean.what)
            and v.known
        ]
        low = min(group, key=lambda v: v.value)
        rows.append((PANELS[mean.what], where, f"{mean.value:.3f}", f"{low.head}, {low.value:.3f}"))
    rows.sort(key=lambda row: row[0] != PANELS["similarity"])
    return Table(("maps of", "layer", "mean cosine of heads", "most changed"), tuple(rows))
