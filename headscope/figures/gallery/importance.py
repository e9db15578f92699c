"""Which heads the loss depends on, by gradient (Michel et al. 2019)."""

from __future__ import annotations

import math

import altair as alt

from headscope.figures import theme, wording
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
from headscope.types import Stack

NOTE = (
    "The mean over sequences of |∂loss/∂gate|, where the gate multiplies the head's output: how "
    "fast the loss would change if the head spoke a little louder or softer. It is a slope at the "
    "model as it is; switching a head off is a long way down that slope, and the measured change "
    "may differ."
)


@figure("importance", tables=("importance",), order=85)
def importance(run: RunLike) -> Picture:
    """One heat map per stack."""
    values = read_heads(run.table("importance"), what="", value="score")
    top = max((v.value for v in values if v.known), default=1.0) or 1.0
    panels: dict[Stack, list[Chart]] = {}
    for stack in stacks_of(values):
        cells = Cells.of(*shape_of(values, stack), width=300)
        panels[stack] = [
            heatmap(
                "heads",
                stack=stack,
                what="",
                cells=cells,
                colour=_colour(top, cells.width),
                title="Importance by gradient",
                subtitle="mean over sequences",
                value_title="|∂loss/∂gate|",
                value_format=".3~g",
                has_gaps=not all(v.known for v in values),
            )
        ]
    sentence = found(values)
    return Picture(
        title="How much the loss depends on each head",
        sentence=sentence,
        chart=arranged(
            panels, columns=1, colour="independent", data={"heads": head_records(values)}
        ),
        alt=f"Heat map of head importance, layer by head. {sentence}",
        note=NOTE,
        table=_table(values),
        prominence=6,
    )


def _colour(top: float, length: int) -> alt.Color:
    """Losses differ by orders of magnitude, so the legend prints two digits, wherever they are."""
    legend = alt.Legend(
        title="|∂loss/∂gate|",
        orient="bottom",
        direction="horizontal",
        gradientLength=length,
        format=".2~g",
        values=[0.0, top / 2, top],
        titleLimit=0,
    )
    scale = alt.Scale(scheme=theme.AMOUNT_SCHEME, domain=[0.0, top], clamp=True)
    return alt.Color("value:Q", scale=scale, legend=legend)


def found(values: list[HeadValue]) -> str:
    """The most important head, the layer it does not come from alone, and how uneven it is."""
    known = sorted((v for v in values if v.known), key=lambda v: -v.value)
    total = sum(v.value for v in known)
    if not known or total == 0:
        return "The loss does not depend on any head."
    best = known[0]
    half, so_far = 0, 0.0
    for v in known:
        half, so_far = half + 1, so_far + v.value
        if so_far >= total / 2:
            break
    interval = "no interval"
    if not (math.isnan(best.low) or math.isnan(best.high)):
        interval = f"95 % interval {best.low:.3g}–{best.high:.3g}"
    return (
        f"The loss depends most on head {best.head} (|∂loss/∂gate| {best.value:.3g}, {interval}, "
        f"n = {wording.plural(best.n, 'sequence')}); half of all importance lies in "
        f"{wording.plural(half, 'head')} of {len(known)}."
    )


def _table(values: list[HeadValue]) -> Table:
    rows = []
    for mean in layer_means(values):
        own = [v for v in values if (v.head.stack, v.head.layer) == (mean.stack, mean.layer)]
        known = [v for v in own if v.known]
        where = f"{mean.layer + 1}" if mean.stack == "self" else f"{mean.stack} {mean.layer + 1}"
        top = max(known, key=lambda v: v.value, default=None)
        rows.append((where, f"{mean.value:.3g}", f"{top.head}, {top.value:.3g}" if top else "–"))
    return Table(("layer", "mean of heads", "most important"), tuple(rows))
