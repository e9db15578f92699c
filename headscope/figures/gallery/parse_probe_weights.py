"""What every head weighs in a parsing probe (Clark et al. 2019, §5)."""

from __future__ import annotations

import math
from typing import Any, Final

import altair as alt

from headscope.figures import wording
from headscope.figures.head_values import (
    HeadValue,
    head_records,
    read_heads,
    shape_of,
    stacks_of,
)
from headscope.figures.heatmap import Cells, heatmap
from headscope.figures.layout import arranged
from headscope.figures.picture import Chart, Picture, Table
from headscope.figures.registered import RunLike, figure
from headscope.types import Stack

#: The probes whose weights are shown; a random model's say nothing about this one.
PROBES: Final = {"attention": "attention alone", "attention_vectors": "with word vectors"}
DIRECTIONS: Final = {
    "dependent_to_head": "from a word to its head",
    "head_to_dependent": "from the head to the word",
}

NOTE = (
    "Each cell is a head; its colour is the weight the probe gives to its attention in one "
    "direction, in units of how much attention typically differs between the candidates for a "
    "word's head. Orange: attention in this direction speaks for a candidate; blue: against it; "
    "pale: the probe does without. With word vectors the weight depends on the two words, and the "
    "mean over the gold arcs is shown. Heads that say the same share their weight in a way that "
    "training decides, so a pale head may still know syntax."
)


@figure("parse_probe_weights", tables=("parse_probe_weights",), order=65)
def parse_probe_weights(run: RunLike) -> Picture:
    """Heat maps per probe and direction on one diverging scale."""
    values = _values(run)
    known = [abs(v.value) for v in values if v.known]
    top = max(known, default=0.0) or 1.0
    panels: dict[Stack, list[Chart]] = {}
    for stack in stacks_of(values):
        here = [v for v in values if v.head.stack == stack]
        cells = Cells.of(*shape_of(values, stack), width=300)
        for probe, label in PROBES.items():
            for direction, way in DIRECTIONS.items():
                name = f"{probe}/{direction}"
                group = [v for v in here if v.what == name]
                if not group:
                    continue
                most = max(group, key=lambda v: v.value)
                panels.setdefault(stack, []).append(
                    heatmap(
                        "heads",
                        stack=stack,
                        what=name,
                        cells=cells,
                        colour=_colour(top),
                        title=f"{wording.capital(label)}, {way}",
                        subtitle=f"most: {most.head}, {most.value:+.2f}",
                        value_title="weight",
                        value_format="+.3f",
                        has_gaps=False,
                    )
                )
    sentence = found(values)
    return Picture(
        title="What every head weighs when all of them parse together",
        sentence=sentence,
        chart=arranged(panels, columns=2, colour="shared", data={"heads": head_records(values)}),
        alt=f"Heat maps of learnt weights, layer by head, one per probe and direction. {sentence}",
        note=NOTE,
        table=_table(values),
        prominence=4,
    )


def _values(run: RunLike) -> list[HeadValue]:
    table: Any = run.table("parse_probe_weights")
    names = [
        f"{probe}/{direction}"
        for probe, direction in zip(
            table.column("probe").to_pylist(), table.column("direction").to_pylist(), strict=True
        )
    ]
    values = read_heads(table, what="direction", value="weight")
    # the table counts arcs; what a reader of the chart is told are sentences
    n_sentences = int(run.record.counts.get("n_dev", 0))
    return [
        HeadValue(v.head, name, v.value, v.low, v.high, n_sentences)
        for v, name in zip(values, names, strict=True)
        if name.partition("/")[0] in PROBES
    ]


def _colour(top: float) -> alt.Color:
    legend = alt.Legend(
        title="weight, in units of the maps' spread",
        orient="top",
        direction="horizontal",
        gradientLength=220,
        format="+.2~g",
        values=[-top, -top / 2, 0, top / 2, top],
        titleLimit=0,
    )
    scale = alt.Scale(scheme="blueorange", domain=[-top, top], domainMid=0, clamp=True)
    return alt.Color("value:Q", scale=scale, legend=legend)


def found(values: list[HeadValue]) -> str:
    """The heads that weigh most in the probe on attention alone, and how few carry half of it."""
    mine = [v for v in values if v.what.startswith("attention/") and v.known]
    if not mine:
        return "No weights were learnt."
    top = max(mine, key=lambda v: v.value)
    way = DIRECTIONS[top.what.partition("/")[2]]
    sizes: dict[object, float] = {}
    for v in mine:
        sizes[v.head] = sizes.get(v.head, 0.0) + abs(v.value)
    total, carried, n_heads = math.fsum(sizes.values()), 0.0, 0
    for size in sorted(sizes.values(), reverse=True):
        if carried >= total / 2:
            break
        carried, n_heads = carried + size, n_heads + 1
    return (
        f"Head {top.head} speaks loudest for a candidate, {way} (weight {top.value:+.2f}); "
        f"{wording.plural(n_heads, 'head')} of {len(sizes)} hold half of all weight."
    )


def _table(values: list[HeadValue]) -> Table:
    rows = []
    for probe, label in PROBES.items():
        for direction, way in DIRECTIONS.items():
            group = [v for v in values if v.what == f"{probe}/{direction}" and v.known]
            for v in sorted(group, key=lambda v: -abs(v.value))[:3]:
                rows.append((label, way, str(v.head), f"{v.value:+.3f}"))
    return Table(("probe", "attention", "head", "weight"), tuple(rows))
