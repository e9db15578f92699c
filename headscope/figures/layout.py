"""Panels side by side, stack under stack."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

import altair as alt

from headscope.figures import theme
from headscope.figures.head_values import Records
from headscope.figures.picture import Chart
from headscope.figures.wording import capital
from headscope.types import Stack


def balanced(n: int, most: int) -> int:
    """Columns that share n panels out evenly, at most so many.

    >>> balanced(9, 4), balanced(10, 4), balanced(2, 4)
    (3, 4, 2)
    """
    n_rows = math.ceil(n / most)
    return math.ceil(n / n_rows)


def arranged(
    panels: Mapping[Stack, Sequence[Chart]],
    *,
    columns: int,
    colour: Literal["shared", "independent"],
    data: Mapping[str, Records],
) -> Chart:
    """Rows of panels; a model with several stacks gets one titled block per stack.

    `data` holds the records the panels speak of, by name. `columns` is what fits on a wide page;
    the report lowers it on narrow screens.
    """
    # Altair copies all panels at every step, so everything is said in one.
    resolve = alt.Resolve(scale=alt.ScaleResolveMap(color=colour))
    blocks: list[Chart] = []
    for stack, members in panels.items():
        name = capital(theme.STACK_TITLES[stack])
        title = {"text": name, "fontSize": 15, "fontWeight": 700, "offset": 14}
        blocks.append(
            alt.concat(
                *members,
                columns=balanced(len(members), columns),
                resolve=resolve,
                title=title if len(panels) > 1 else alt.Undefined,
            )
        )
    if not blocks:
        return _nothing()
    whole = blocks[0] if len(blocks) == 1 else alt.vconcat(*blocks, spacing=40, resolve=resolve)
    whole.datasets = dict(data)
    return whole


def _nothing() -> Chart:
    """What stands where no panel has data."""
    empty = alt.Chart(alt.InlineData(values=[{}]), width=200, height=40)
    chart: Chart = empty.mark_text(style="annotation", text="no data")
    return chart
