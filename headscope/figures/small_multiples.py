"""One heat map of layers × heads per quantity, side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import altair as alt

from headscope.figures import theme, wording
from headscope.figures.head_values import HeadValue, shape_of, stacks_of
from headscope.figures.heatmap import Cells, heatmap
from headscope.figures.picture import Chart
from headscope.types import Stack


def part_colour(title: str, top: float) -> alt.Color:
    """Colour for shares that never come near 100 %: from 0 to the largest of all panels."""
    top = max(top, 1e-6)
    return alt.Color(
        "value:Q",
        scale=alt.Scale(scheme=theme.SHARE_SCHEME, domain=[0, top], clamp=True),
        legend=alt.Legend(
            title=title,
            orient="top",
            direction="horizontal",
            gradientLength=200,
            format=".1%" if top < 0.1 else ".0%",
            values=[0, top / 4, top / 2, 3 * top / 4, top],
            titleLimit=0,
        ),
    )


def small_multiples(
    values: Sequence[HeadValue],
    names: Sequence[str],
    labels: Mapping[str, str],
    colour: alt.Color,
    *,
    width: int,
    value_format: str = ".1%",
    shown: Callable[[float], str] = wording.percent,
) -> dict[Stack, list[Chart]]:
    """A panel per name and stack with its strongest head; the records are named `heads`.

    `width` is that of a panel, in pixels.
    """
    gaps = not all(v.known for v in values)
    panels: dict[Stack, list[Chart]] = {}
    for stack in stacks_of(values):
        here = [v for v in values if v.head.stack == stack]
        present = [name for name in names if any(v.what == name and v.known for v in here)]
        if not present:
            continue
        cells = Cells.of(*shape_of(values, stack), width=width)
        for name in present:
            top = strongest([v for v in here if v.what == name])
            panels.setdefault(stack, []).append(
                heatmap(
                    "heads",
                    stack=stack,
                    what=name,
                    cells=cells,
                    colour=colour,
                    title=wording.capital(labels.get(name, name)),
                    subtitle=f"most: {top.head}, {shown(top.value)}" if top else "no data",
                    value_title=labels.get(name, name),
                    value_format=value_format,
                    has_gaps=gaps,
                )
            )
    return panels


def strongest(values: Sequence[HeadValue]) -> HeadValue | None:
    """The head with the largest value; the first of equals; None without data."""
    return max((v for v in values if v.known), key=lambda v: v.value, default=None)
