"""Tables with a row per head and kind of thing, as rows of passports."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

from headscope.figures.atlas.row import Row
from headscope.figures.head_values import HeadValue
from headscope.types import HeadId, Stack


def by_head(values: Iterable[HeadValue]) -> dict[HeadId, list[HeadValue]]:
    """The values of every head, in the order of the table."""
    found: dict[HeadId, list[HeadValue]] = {}
    for value in values:
        found.setdefault(value.head, []).append(value)
    return found


def rows_of(
    values: Iterable[HeadValue],
    *,
    names: Sequence[str],
    label: Callable[[str], str],
    row: Callable[[HeadValue, str], Row],
) -> dict[HeadId, list[Row]]:
    """Every head's values in the order of `names`, each as a row with its label."""
    place = {name: i for i, name in enumerate(names)}
    return {
        head: [
            row(v, label(v.what))
            for v in sorted(own, key=lambda v: (place.get(v.what, len(place)), v.what))
        ]
        for head, own in by_head(values).items()
    }


def share_row(value: HeadValue, label: str) -> Row:
    """A share of attention, with a bar from 0 to 1."""
    return Row(label, value.value, low=value.low, high=value.high, n=value.n, full=1.0)


def largest(numbers: Iterable[float]) -> float | None:
    """The largest size of a number that is one; what fills a bar."""
    return max((abs(x) for x in numbers if math.isfinite(x)), default=None)


def head_records(table: Any) -> list[tuple[HeadId, dict[str, Any]]]:
    """The rows of a table that speak of one head; null numbers are NaN only where they are."""
    return [
        (HeadId(row["layer"], row["head"], cast("Stack", row.get("stack", "self"))), row)
        for row in table.to_pylist()
        if row.get("layer") is not None and row.get("head") is not None
    ]


def number(value: Any) -> float:
    """A cell as a number; null is NaN."""
    return math.nan if value is None else float(value)
