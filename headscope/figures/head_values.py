"""Rows about heads, out of a run's tables and into a chart."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from headscope.types import STACKS, HeadId, Stack

#: Rows of a chart's data; None is "no data".
Records: TypeAlias = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class HeadValue:
    """One number about one head: `what` is measured, with its interval and support."""

    head: HeadId
    what: str
    value: float
    low: float
    high: float
    n: int

    @property
    def known(self) -> bool:
        return not math.isnan(self.value)


@dataclass(frozen=True, slots=True)
class LayerMean:
    """The mean of a layer's heads that have data.

    `low` and `high` are the means of the heads' interval ends. The heads of a layer read the same
    sequences, so their errors are correlated in a way the table does not tell; the standard error
    of a mean never exceeds the mean of the standard errors, so this interval is never too narrow.
    """

    stack: Stack
    layer: int
    what: str
    value: float
    low: float
    high: float
    n_heads: int


def read_heads(table: Any, *, what: str, value: str) -> list[HeadValue]:
    """The rows of a table with `layer`, `head`, a column that says what, and a value.

    `stack`, `ci_low`, `ci_high` and `n` may be absent; null is read as NaN.
    """
    n_rows = table.num_rows

    def column(name: str, default: object) -> list[Any]:
        if name not in table.column_names:
            return [default] * n_rows
        return [default if v is None else v for v in table.column(name).to_pylist()]

    nan = math.nan
    rows = zip(
        column("layer", 0),
        column("head", 0),
        column("stack", "self"),
        column(what, ""),
        column(value, nan),
        column("ci_low", nan),
        column("ci_high", nan),
        column("n", 0),
        strict=True,
    )
    return [
        HeadValue(HeadId(layer, head, cast("Stack", stack)), str(kind), mean, low, high, int(n))
        for layer, head, stack, kind, mean, low, high, n in rows
    ]


def stacks_of(values: Iterable[HeadValue]) -> list[Stack]:
    """The stacks that occur, in the order people know them."""
    present = {v.head.stack for v in values}
    return [stack for stack in STACKS if stack in present]


def shape_of(values: Iterable[HeadValue], stack: Stack) -> tuple[int, int]:
    """Number of layers and of heads of a stack.

    >>> shape_of([HeadValue(HeadId(5, 11), "self", 0.1, 0.0, 0.2, 3)], "self")
    (6, 12)
    """
    heads = [v.head for v in values if v.head.stack == stack]
    return max(h.layer for h in heads) + 1, max(h.head for h in heads) + 1


def layer_means(values: Iterable[HeadValue]) -> list[LayerMean]:
    """The mean per stack, layer and `what`, over the heads that have data."""
    groups: dict[tuple[Stack, int, str], list[HeadValue]] = {}
    for v in values:
        groups.setdefault((v.head.stack, v.head.layer, v.what), []).append(v)
    return [
        LayerMean(
            *key,
            value=_mean([v.value for v in group]),
            low=_mean([v.low for v in group if v.known]),
            high=_mean([v.high for v in group if v.known]),
            n_heads=sum(v.known for v in group),
        )
        for key, group in sorted(groups.items())
    ]


def _mean(numbers: Sequence[float]) -> float:
    known = [x for x in numbers if not math.isnan(x)]
    return sum(known) / len(known) if known else math.nan


def head_records(values: Iterable[HeadValue]) -> Records:
    """Head values as chart data: stack, layer, head (from 1), what, value, low, high, n."""
    return [
        {
            "stack": v.head.stack,
            "layer": v.head.layer + 1,
            "head": v.head.head + 1,
            "what": v.what,
            **_numbers(v),
            "n": v.n,
        }
        for v in values
    ]


def layer_records(means: Iterable[LayerMean]) -> Records:
    """Layer means as chart data: stack, layer (from 1), what, value, low, high, n (heads)."""
    return [
        {"stack": m.stack, "layer": m.layer + 1, "what": m.what, **_numbers(m), "n": m.n_heads}
        for m in means
    ]


def _numbers(v: HeadValue | LayerMean) -> dict[str, float | None]:
    """Null is how "no data" reaches a chart; five digits are more than anyone sees there."""
    named = {"value": v.value, "low": v.low, "high": v.high}
    return {k: float(f"{x:.5g}") if math.isfinite(x) else None for k, x in named.items()}
