"""Where every head looks: one heat map per target (Clark et al. 2019, §3.1–3.2)."""

from __future__ import annotations

from headscope.figures import theme, wording
from headscope.figures.head_values import (
    HeadValue,
    head_records,
    read_heads,
    shape_of,
    stacks_of,
)
from headscope.figures.heatmap import Cells, heatmap, share_colour
from headscope.figures.layout import arranged, balanced
from headscope.figures.picture import Chart, Picture, Table
from headscope.figures.registered import RunLike, figure
from headscope.figures.surface_targets import POINTED, in_order, target
from headscope.types import Stack

COLUMNS = 4
NOTE = (
    "Each cell is a head, named layer-head as in 8-10; its colour is the share of attention that "
    "an average token gives to the target, averaged over sequences, on one scale from 0 to 100 % "
    "in all panels. A bright head attends there whatever the words are; that does not say that "
    "the model needs it. The strongest of many heads was picked after looking, which its interval "
    "does not account for."
)
GAPS = " Crossed cells have no data: the corpus never gave that head such a target."


@figure("surface", tables=("surface",), order=10)
def surface(run: RunLike) -> Picture:
    """Small multiples, layer × head, one panel per target and stack."""
    values = read_heads(run.table("surface"), what="target", value="mean")
    gaps = not all(v.known for v in values)
    panels: dict[Stack, list[Chart]] = {}
    for stack in stacks_of(values):
        here = [v for v in values if v.head.stack == stack]
        names = in_order({v.what for v in here})
        columns = balanced(len(names), COLUMNS)
        cells = Cells.of(*shape_of(values, stack), width=780 // columns)
        for name in names:
            panels.setdefault(stack, []).append(
                heatmap(
                    "heads",
                    stack=stack,
                    what=name,
                    cells=cells,
                    colour=share_colour(),
                    title=wording.capital(target(name).label),
                    subtitle=_most([v for v in here if v.what == name]),
                    value_title=f"to {target(name).phrase}",
                    value_format=".1%",
                    has_gaps=gaps,
                )
            )
    return Picture(
        title="How much each head looks at itself, its neighbours and special tokens",
        sentence=found(values),
        chart=arranged(
            panels, columns=COLUMNS, colour="shared", data={"heads": head_records(values)}
        ),
        alt=f"Heat maps of layer by head, one per target of attention. {found(values)}",
        note=NOTE + (GAPS if gaps else ""),
        table=_table(values),
        prominence=10,
    )


def _row_title(stack: str, name: str) -> str:
    label = wording.capital(target(name).label)
    return label if stack == "self" else f"{theme.STACK_TITLES[stack]}: {label}"


def strongest(values: list[HeadValue]) -> HeadValue | None:
    """The head with the largest value; the first of equals; None without data."""
    return max((v for v in values if v.known), key=lambda v: v.value, default=None)


def _most(values: list[HeadValue]) -> str:
    top = strongest(values)
    return f"most: {top.head}, {wording.percent(top.value)}" if top else wording.NO_DATA


def found(values: list[HeadValue]) -> str:
    """The most single-minded head, and how many heads give a target more than half."""
    pointed = [v for v in values if v.what in POINTED]
    top = strongest(pointed)
    if top is None:
        return "No head has data for any of these targets."
    n_heads = len({v.head for v in values})
    half = {name: sum(v.value > 0.5 for v in pointed if v.what == name) for name in POINTED}
    counts = [(n, target(name).phrase) for name, n in half.items() if n]
    if counts:
        (n, phrase), *more = counts
        first = f"{n} {'puts' if n == 1 else 'put'} more than half on {phrase}"
        listed = wording.listed([first, *(f"{n} on {phrase}" for n, phrase in more)])
        rest = f"of {wording.plural(n_heads, 'head')}, {listed}"
    else:
        rest = f"none of the {wording.plural(n_heads, 'head')} puts more than half on one target"
    return (
        f"Head {top.head} is the most single-minded: it puts {wording.percent(top.value)} of its "
        f"attention on {target(top.what).phrase} "
        f"({wording.support(wording.share_interval(top.low, top.high), top.n)}); {rest}."
    )


def _table(values: list[HeadValue]) -> Table:
    rows = []
    for stack in stacks_of(values):
        here = [v for v in values if v.head.stack == stack]
        for name in in_order({v.what for v in here}):
            group = [v for v in here if v.what == name]
            top = strongest(group)
            cells = (
                (
                    str(top.head),
                    wording.percent(top.value),
                    wording.share_interval(top.low, top.high),
                    wording.count(top.n),
                )
                if top
                else ("–", wording.NO_DATA, "–", "0")
            )
            rows.append((_row_title(stack, name), *cells, str(sum(v.value > 0.5 for v in group))))
    columns = ("attention to", "strongest head", "share", "95 % interval", "n", "heads over half")
    return Table(columns, tuple(rows))
