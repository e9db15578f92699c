"""Where the layers look: heads as points, layer means as a line (Clark et al. 2019, Figure 2)."""

from __future__ import annotations

import math
from typing import Final

from headscope.figures import theme, wording
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
from headscope.figures.surface_targets import POINTED, target
from headscope.types import Stack

#: Panels, with the targets that are compared in each.
PANELS: Final = {
    "special tokens": ("sep", "cls", "punct"),
    "itself and its neighbours": ("prev", "self", "next"),
    "the first token": ("first",),
    "[SEP], by who is looking": ("sep_from_sep", "sep_from_other"),
}

NOTE = (
    "A point is a head with its 95 % interval; the line is the mean of the heads of a layer. The "
    "band is the mean of the heads' intervals: heads of a layer read the same sequences, so the "
    "true interval of the mean is at most that wide. A high mean may be a few heads or all of "
    "them: look at the points."
)


@figure("surface_by_layer", tables=("surface",), order=20)
def surface_by_layer(run: RunLike) -> Picture:
    """One panel per group of targets and stack."""
    values = read_heads(run.table("surface"), what="target", value="mean")
    means = layer_means(values)
    panels: dict[Stack, list[Chart]] = {}
    for stack in stacks_of(values):
        present = {v.what for v in values if v.head.stack == stack and v.known}
        for name, targets in PANELS.items():
            shown = [t for t in targets if t in present]
            if not shown or (name == "the first token" and "cls" in present):
                continue  # where there is a [CLS], it is the first token
            panels.setdefault(stack, []).append(
                layer_scatter(
                    "heads",
                    "layers",
                    stack=stack,
                    n_layers=shape_of(values, stack)[0],
                    series=[Series(t, target(t).label, target(t).colour) for t in shown],
                    title=f"To {name if len(shown) > 1 else target(shown[0]).phrase}",
                    subtitle="points are heads, the line is their mean",
                    y_title="share of attention",
                    y_format=".0%",
                    y_domain=(0.0, 1.0),
                    value_format=".1%",
                )
            )
    data = {"heads": head_records(values), "layers": layer_records(means)}
    return Picture(
        title="How attention to special and neighbouring tokens changes with depth",
        sentence=found(means),
        chart=arranged(panels, columns=3, colour="independent", data=data),
        alt=f"Scatter plots of attention by layer, one point per head. {found(means)}",
        note=NOTE,
        table=_table(means),
        prominence=5,
    )


def peaks(means: list[LayerMean]) -> list[LayerMean]:
    """The layer with the highest mean, per stack and target; highest first."""
    best: dict[tuple[str, str], LayerMean] = {}
    for m in means:
        key = m.stack, m.what
        if not math.isnan(m.value) and (key not in best or m.value > best[key].value):
            best[key] = m
    return sorted(best.values(), key=lambda m: -m.value)


def _layer(mean: LayerMean) -> str:
    label = f"layer {mean.layer + 1}"
    return label if mean.stack == "self" else f"{label} of the {theme.STACK_TITLES[mean.stack]}"


def found(means: list[LayerMean]) -> str:
    """The largest layer mean of all, and where the others of its stack peak."""
    pointed = [m for m in peaks(means) if m.what in POINTED]
    if not pointed:
        return "No layer has data for any of these targets."
    top, *rest = pointed
    words = [
        f"{target(m.what).phrase} in layer {m.layer + 1} ({wording.percent(m.value)})"
        for m in rest
        if m.stack == top.stack and {m.what, top.what} != {"first", "cls"}
    ][:3]
    return (
        f"Attention to {target(top.what).phrase} is highest in {_layer(top)}, "
        f"{wording.percent(top.value)} on average over {wording.plural(top.n_heads, 'head')} "
        f"({_interval(top)})" + (f"; to {wording.listed(words)}." if words else ".")
    )


def _interval(mean: LayerMean) -> str:
    interval = wording.share_interval(mean.low, mean.high)
    known = interval != wording.NO_INTERVAL
    return f"95 % interval no wider than {interval}" if known else interval


def _table(means: list[LayerMean]) -> Table:
    rows = tuple(
        (
            target(m.what).label,
            _layer(m),
            wording.percent(m.value),
            wording.share_interval(m.low, m.high),
            str(m.n_heads),
        )
        for m in peaks(means)
    )
    return Table(("attention to", "highest in", "mean of heads", "interval", "heads"), rows)
