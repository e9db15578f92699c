"""The shapes of attention maps, by layer and by head (Kovaleva et al. 2019, Figure 2)."""

from __future__ import annotations

import json
from typing import Any

import altair as alt

from headscope.figures import wording
from headscope.figures.head_values import HeadValue, read_heads, shape_of, stacks_of
from headscope.figures.heatmap import Cells, ticks
from headscope.figures.layout import arranged
from headscope.figures.pattern_names import PATTERN_NAMES
from headscope.figures.picture import Chart, Picture, Table
from headscope.figures.registered import RunLike, figure
from headscope.types import HeadId, Stack

NOTE = (
    "A convolutional network names the shape of one map per head and sequence. Bars: the share of "
    "each shape among a layer's maps, and among all maps below them. Cells: the shape most of a "
    "head's maps have, the stronger the colour the larger its share. The network errs (its "
    "confusion matrix is in the documentation), and a shape is not a use: heterogeneous maps are "
    "an upper bound on heads with something linguistic to them, and even attention is among them."
)
ALL = "all"


@figure("patterns", tables=("patterns",), order=55)
def patterns(run: RunLike) -> Picture:
    """Stacked bars per layer and overall; a grid of heads by their commonest shape."""
    values = read_heads(run.table("patterns"), what="pattern", value="share")
    panels: dict[Stack, list[Chart]] = {}
    for stack in stacks_of(values):
        cells = Cells.of(*shape_of(values, stack), width=330)
        panels[stack] = [_bars(stack, cells), _grid(stack, cells)]
    sentence = found(values)
    data = {"layers": _layer_records(values), "heads": _head_records(values)}
    return Picture(
        title="The shapes of attention maps",
        sentence=sentence,
        chart=arranged(panels, columns=2, colour="shared", data=data),
        alt=f"Stacked bars of pattern shares per layer, and a grid of heads. {sentence}",
        note=NOTE,
        table=_table(values),
        prominence=7,
    )


def mean_shares(values: list[HeadValue]) -> dict[str, float]:
    """The mean share of every shape over the heads that have data."""
    known: dict[str, list[float]] = {}
    for v in values:
        if v.known:
            known.setdefault(v.what, []).append(v.value)
    return {name: sum(known[name]) / len(known[name]) for name in PATTERN_NAMES if name in known}


def commonest(values: list[HeadValue]) -> dict[HeadId, HeadValue]:
    """The shape with the largest share of every head that has data; the first of equals."""
    best: dict[HeadId, HeadValue] = {}
    for v in values:
        if v.known and (v.head not in best or v.value > best[v.head].value):
            best[v.head] = v
    return best


def _layer_records(values: list[HeadValue]) -> list[dict[str, Any]]:
    rows = []
    for stack in stacks_of(values):
        here = [v for v in values if v.head.stack == stack]
        groups = {str(n + 1): [v for v in here if v.head.layer == n] for n in _layers(here)}
        for layer, group in {**groups, ALL: here}.items():
            for order, (name, share) in enumerate(mean_shares(group).items()):
                rows.append(
                    {
                        "stack": stack,
                        "layer": layer,
                        "pattern": PATTERN_NAMES[name].label,
                        "order": order,
                        "share": float(f"{share:.5g}"),
                        "n": len({v.head for v in group if v.known}),
                    }
                )
    return rows


def _layers(values: list[HeadValue]) -> list[int]:
    return sorted({v.head.layer for v in values})


def _head_records(values: list[HeadValue]) -> list[dict[str, Any]]:
    return [
        {
            "stack": v.head.stack,
            "layer": v.head.layer + 1,
            "head": v.head.head + 1,
            "label": f"head {v.head}",
            "pattern": PATTERN_NAMES[v.what].label,
            "share": float(f"{v.value:.5g}"),
            "interval": wording.share_interval(v.low, v.high),
            "n": v.n,
        }
        for v in commonest(values).values()
        if v.what in PATTERN_NAMES
    ]


def _colour() -> alt.Color:
    names = PATTERN_NAMES.values()
    return alt.Color(
        "pattern:N",
        title=None,
        scale=alt.Scale(domain=[n.label for n in names], range=[n.colour for n in names]),
        legend=alt.Legend(orient="top", symbolType="square", symbolOpacity=1, columns=5),
    )


def _bars(stack: Stack, cells: Cells) -> alt.Chart:
    layers = [str(n) for n in range(1, cells.n_layers + 1)]
    shown = [str(n) for n in ticks(cells.n_layers)]
    chart: alt.Chart = (
        alt.Chart(alt.NamedData(name="layers"))
        .transform_filter(f"datum.stack == {json.dumps(stack)}")
        .mark_bar()
        .encode(
            x=alt.X(
                "share:Q",
                title="share of maps",
                stack="zero",
                scale=alt.Scale(domain=[0, 1], nice=False),
                axis=alt.Axis(format=".0%", tickCount=5, grid=False),
            ),
            y=alt.Y(
                "layer:N",
                title="layer",
                scale=alt.Scale(domain=[*layers, ALL], paddingInner=0.12, paddingOuter=0.03),
                axis=alt.Axis(values=[*shown, ALL], labelOverlap=False),
            ),
            color=_colour(),
            order=alt.Order("order:Q"),
            tooltip=[
                alt.Tooltip("layer:N", title="layer"),
                alt.Tooltip("pattern:N", title="shape"),
                alt.Tooltip("share:Q", title="share of maps", format=".1%"),
                alt.Tooltip("n:Q", title="heads"),
            ],
        )
        .properties(
            width=330,
            height=round(max(cells.height, 120) * (cells.n_layers + 1) / cells.n_layers),
            title=alt.Title("By layer", subtitle="mean of the heads' shares"),
        )
    )
    return chart


def _grid(stack: Stack, cells: Cells) -> alt.Chart:
    def band(n: int) -> dict[str, Any]:
        scale = alt.Scale(domain=list(range(1, n + 1)), paddingInner=cells.gap, paddingOuter=0.03)
        return {"scale": scale, "axis": alt.Axis(values=ticks(n), labelOverlap=False)}

    chart: alt.Chart = (
        alt.Chart(alt.NamedData(name="heads"))
        .transform_filter(f"datum.stack == {json.dumps(stack)}")
        .mark_rect()
        .encode(
            x=alt.X("head:O", title="head", **band(cells.n_heads)),
            y=alt.Y("layer:O", title="layer", **band(cells.n_layers)),
            color=_colour(),
            opacity=alt.Opacity(
                "share:Q", legend=None, scale=alt.Scale(domain=[0.2, 1], range=[0.25, 1])
            ),
            tooltip=[
                alt.Tooltip("label:N", title="title"),
                alt.Tooltip("pattern:N", title="commonest shape"),
                alt.Tooltip("share:Q", title="share of its maps", format=".1%"),
                alt.Tooltip("interval:N", title="95 % interval"),
                alt.Tooltip("n:Q", title="sequences", format=","),
            ],
        )
        .properties(
            width=cells.width,
            height=max(cells.height, 120),
            title=alt.Title("By head", subtitle="the commonest shape; strong colour, large share"),
        )
    )
    return chart


def found(values: list[HeadValue]) -> str:
    """The shares of all maps, the largest first, and how steady heads are."""
    shares = mean_shares(values)
    if not shares:
        return "No head has a map to look at."
    n = max(v.n for v in values)
    ranked = sorted(shares, key=lambda name: -shares[name])
    words = [f"{wording.percent(shares[name])} {PATTERN_NAMES[name].label}" for name in ranked]
    steady = [v for v in commonest(values).values() if v.value >= 0.9]
    n_heads = len(commonest(values))
    return (
        f"Of the attention maps, {wording.listed(words)} "
        f"({wording.plural(n_heads, 'head')}, n = {wording.plural(n, 'sequence')}); "
        f"{wording.plural(len(steady), 'head')} of {n_heads} have one shape in at least 90 % of "
        "their maps."
    )


def _table(values: list[HeadValue]) -> Table:
    rows = []
    shares = mean_shares(values)
    best = commonest(values)
    for name, share in shares.items():
        mine = [v for v in values if v.what == name and v.known]
        top = max(mine, key=lambda v: v.value)
        rows.append(
            (
                PATTERN_NAMES[name].label,
                wording.percent(share),
                str(sum(v.what == name for v in best.values())),
                f"{top.head}, {wording.percent(top.value)}",
                wording.share_interval(top.low, top.high),
            )
        )
    columns = ("shape", "share of maps", "commonest in heads", "most in head", "95 % interval")
    return Table(columns, tuple(rows))
