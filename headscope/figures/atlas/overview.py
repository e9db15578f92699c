"""The picture of the first screen: how many heads of which kind every layer has."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from headscope.figures.atlas.kinds import Kind, Kinds
from headscope.figures.atlas.plain_text import plain_text
from headscope.figures.atlas.run_heads import StackShape
from headscope.figures.theme import STACK_TITLES

#: The smallest dot, as a share of the largest: a number must fit into it.
_SMALLEST = 0.58


@dataclass(frozen=True, slots=True)
class KindRow:
    """A kind: its look and name, its heads per layer with the size of their dot, and in all."""

    look: str
    label: str
    cells: tuple[tuple[int, float], ...]
    total: int


@dataclass(frozen=True, slots=True)
class KindTable:
    """The kinds of one stack of one run."""

    title: str
    layers: tuple[int, ...]
    rows: tuple[KindRow, ...]


def kinds_tables(
    kinds: Sequence[Kinds | None], names: Sequence[str], shapes: Sequence[StackShape]
) -> list[KindTable]:
    """One table per run and stack that has kinds."""
    found = []
    for of_run, name in zip(kinds, names, strict=True):
        if of_run is None:
            continue
        for shape in shapes:
            title = [name] if len(names) > 1 else []
            title += [STACK_TITLES[shape.stack]] if len(shapes) > 1 else []
            found.append(_table(of_run, shape, " · ".join(title) or "Heads of each kind by layer"))
    return found


def _table(kinds: Kinds, shape: StackShape, title: str) -> KindTable:
    shown = [*kinds.kinds, *([kinds.none] if kinds.none.heads else [])]
    rows = tuple(_row(kind, shape) for kind in shown)
    return KindTable(
        title,
        tuple(range(1, shape.n_layers + 1)),
        tuple(row for row in rows if row.total),
    )


def _row(kind: Kind, shape: StackShape) -> KindRow:
    counts = kind.per_layer(shape.stack, shape.n_layers)
    cells = tuple((n, dot_size(n, shape.n_heads)) for n in counts)
    return KindRow(kind.look, plain_text(kind.label, 60), cells, sum(counts))


def dot_size(n: int, n_heads: int) -> float:
    """The diameter of a dot: it grows with the root of the share, from what a number needs.

    >>> dot_size(12, 12), dot_size(3, 12)
    (1.0, 0.79)
    """
    return round(_SMALLEST + (1 - _SMALLEST) * math.sqrt(n / n_heads), 2)
