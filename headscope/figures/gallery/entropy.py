"""Focused or broad: the entropy of every head's attention (Clark et al. 2019, §3.3, Figure 4)."""

from __future__ import annotations

import math
from typing import Final

from headscope.figures import theme, wording
from headscope.figures.head_values import (
    HeadValue,
    LayerMean,
    head_records,
    layer_means,
    layer_records,
    read_heads,
    shape_of,
    stacks_of,
)
from headscope.figures.heatmap import Cells, amount_colour, heatmap
from headscope.figures.layer_scatter import Series, layer_scatter
from headscope.figures.layout import arranged
from headscope.figures.picture import Chart, Picture, Table
from headscope.figures.registered import RunLike, figure
from headscope.figures.theme import OKABE_ITO
from headscope.types import Stack

ROWS: Final = {
    "all": Series("all", "from all tokens", OKABE_ITO["blue"]),
    "cls": Series("cls", "from [CLS] alone", OKABE_ITO["orange"]),
}

NOTE = (
    "Entropy in nats: 0 is all attention on one token, and e to the power of the entropy is the "
    "number of tokens an equally broad, even head would spread over (1 nat is 2.7 tokens, 3 nats "
    "are 20). It cannot exceed the logarithm of the sequence's length, so compare it only between "
    "models that read the same corpus. Broad attention need not be idle, nor narrow attention "
    "meaningful: a head that rests on [SEP] is narrow too. Points are heads with their 95 % "
    "intervals, lines the means of a layer's heads."
)
GAPS = " Crossed cells have no data."


@figure("entropy", tables=("entropy",), order=30)
def entropy(run: RunLike) -> Picture:
    """Heat maps for all rows and for the [CLS] row, and both by layer."""
    values = read_heads(run.table("entropy"), what="rows", value="mean_nats")
    means = layer_means(values)
    gaps = not all(v.known for v in values)
    ends = [x for v in values for x in (v.value, v.high) if math.isfinite(x)]
    top = math.ceil(2 * max(ends, default=0.0)) / 2 or 1.0
    panels: dict[Stack, list[Chart]] = {}
    for stack in stacks_of(values):
        n_layers, n_heads = shape_of(values, stack)
        cells = Cells.of(n_layers, n_heads, width=250)
        here = [v for v in values if v.head.stack == stack]
        present = [r for r in ROWS if any(v.what == r and v.known for v in here)]
        for rows in present:
            panels.setdefault(stack, []).append(
                heatmap(
                    "heads",
                    stack=stack,
                    what=rows,
                    cells=cells,
                    colour=amount_colour(
                        "entropy in nats",
                        top,
                        length=cells.width,
                        legend=rows == present[0],
                    ),
                    title=wording.capital(ROWS[rows].label),
                    subtitle=_broadest(here, rows),
                    value_title="entropy (nats)",
                    value_format=".2f",
                    has_gaps=gaps,
                )
            )
        if present:
            panels.setdefault(stack, []).append(
                layer_scatter(
                    "heads",
                    "layers",
                    stack=stack,
                    n_layers=n_layers,
                    series=[ROWS[r] for r in present],
                    title="By layer",
                    subtitle="points are heads, the line is their mean",
                    y_title="entropy (nats)",
                    y_format=".1f",
                    y_domain=(0.0, top),
                    value_format=".2f",
                    legend="bottom",
                    height=max(150, min(cells.height, 300)),
                )
            )
    data = {"heads": head_records(values), "layers": layer_records(means)}
    return Picture(
        title="How broadly each head spreads its attention",
        sentence=found(values, means),
        chart=arranged(panels, columns=3, colour="independent", data=data),
        alt="Heat maps of attention entropy, layer by head, and a scatter plot by layer. "
        + found(values, means),
        note=NOTE + (GAPS if gaps else ""),
        table=_table(values, means),
        prominence=6,
    )


def _extreme(values: list[HeadValue], rows: str, *, least: bool = False) -> HeadValue | None:
    known = [v for v in values if v.what == rows and v.known]
    pick = min if least else max
    return pick(known, key=lambda v: v.value, default=None)


def _broadest(values: list[HeadValue], rows: str) -> str:
    broad = _extreme(values, rows)
    return f"broadest: {broad.head}, {wording.nats(broad.value)}" if broad else wording.NO_DATA


def found(values: list[HeadValue], means: list[LayerMean]) -> str:
    """The broadest and the narrowest head, and the layer where attention is broadest."""
    broad, narrow = _extreme(values, "all"), _extreme(values, "all", least=True)
    if broad is None or narrow is None:
        return "No head has data on its entropy."

    def cited(v: HeadValue) -> str:
        interval = wording.amount_interval(v.low, v.high)
        return f"{wording.nats(v.value)}, {wording.support(interval, v.n)}"

    sentence = (
        f"Attention is broadest in head {broad.head} ({cited(broad)}) and narrowest in "
        f"{narrow.head} ({cited(narrow)})"
    )
    cls = [m for m in means if m.what == "cls" and m.stack == broad.head.stack]
    cls = [m for m in cls if not math.isnan(m.value)]
    if cls:
        top = max(cls, key=lambda m: m.value)
        sentence += (
            f"; from [CLS] alone it is broadest in layer {top.layer + 1}{_of_stack(top.stack)}, "
            f"{wording.nats(top.value)} on average"
        )
    return sentence + "."


def _of_stack(stack: Stack) -> str:
    return "" if stack == "self" else f" of the {theme.STACK_TITLES[stack]}"


def _table(values: list[HeadValue], means: list[LayerMean]) -> Table:
    rows = []
    for m in means:
        group = [
            v for v in values if (v.head.stack, v.head.layer, v.what) == (m.stack, m.layer, m.what)
        ]
        broad, narrow = _extreme(group, m.what), _extreme(group, m.what, least=True)
        where = f"{m.layer + 1}" if m.stack == "self" else f"{m.stack} {m.layer + 1}"
        rows.append(
            (
                where,
                ROWS[m.what].label if m.what in ROWS else m.what,
                wording.nats(m.value),
                f"{broad.head}, {broad.value:.2f}" if broad else "–",
                f"{narrow.head}, {narrow.value:.2f}" if narrow else "–",
            )
        )
    return Table(("layer", "rows", "mean of heads", "broadest", "narrowest"), tuple(rows))
