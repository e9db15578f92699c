"""Two models side by side: the same quantity of every head, on one colour scale."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import altair as alt
import pyarrow.compute as pc

from headscope.figures import wording
from headscope.figures.head_values import HeadValue, read_heads
from headscope.figures.layout import arranged
from headscope.figures.picture import Chart
from headscope.figures.small_multiples import small_multiples
from headscope.types import HeadId

SIDES = ("before", "after")


def models_of(table: Any) -> list[str]:
    """The two models of a table with the column `model`, the one before first."""
    return list(dict.fromkeys(table.column("model").to_pylist()))[:2]


def read_sides(table: Any, *, what: str, value: str) -> list[HeadValue]:
    """Rows of both models; `what` becomes `what|before` and `what|after`."""
    found: list[HeadValue] = []
    for side, model in zip(SIDES, models_of(table), strict=False):
        own = table.filter(pc.equal(table.column("model"), model))
        rows = read_heads(own, what=what, value=value)
        found += [replace(v, what=f"{v.what}|{side}") for v in rows]
    return found


def block(
    values: Sequence[HeadValue], names: Sequence[str], labels: Mapping[str, str], colour: alt.Color
) -> Chart | None:
    """A panel before and one after per name, two names a row; None without data."""
    sides = [f"{name}|{side}" for name in names for side in SIDES]
    titles = {f"{n}|{side}": f"{labels.get(n, n)}, {side}" for n in names for side in SIDES}
    panels = small_multiples(values, sides, titles, colour, width=190)
    return arranged(panels, columns=4, colour="shared", data={}) if panels else None


def changes(values: Sequence[HeadValue], name: str) -> dict[HeadId, float]:
    """After minus before, for heads with data in both."""
    sides = [
        {v.head: v.value for v in values if v.what == f"{name}|{s}" and v.known} for s in SIDES
    ]
    return {head: sides[1][head] - old for head, old in sides[0].items() if head in sides[1]}


def largest_change(
    values: Sequence[HeadValue], names: Sequence[str], labels: Mapping[str, str]
) -> str:
    """The head and quantity that changed most, in words."""
    found = [
        (abs(change), head, name, change)
        for name in names
        for head, change in changes(values, name).items()
    ]
    if not found:
        return "No head has data in both models."
    _, head, name, change = max(found, key=lambda item: item[0])
    old, new = (
        next(v for v in values if v.head == head and v.what == f"{name}|{side}") for side in SIDES
    )
    ends = (old.low, old.high, new.low, new.high)
    sure = ""
    if not any(math.isnan(end) for end in ends):
        overlap = max(old.low, new.low) <= min(old.high, new.high)
        sure = f"95 % intervals {'overlap' if overlap else 'do not overlap'}, "
    return (
        f"The largest change is in head {head} for {labels.get(name, name)}: "
        f"from {wording.percent(old.value)} to {wording.percent(new.value)} "
        f"({change * 100:+.1f} points, {sure}n = {wording.plural(old.n, 'sequence')})."
    )
