"""The five shapes an attention map can have."""

from __future__ import annotations

from typing import Final, NamedTuple


class PatternClass(NamedTuple):
    """A shape by its name in tables, the key that labels it, and the rule in one line."""

    name: str
    key: str
    rule: str


CLASSES: Final = (
    PatternClass("vertical", "v", "a column stands out, and no diagonal"),
    PatternClass("diagonal", "d", "a line or band along the diagonal stands out, and no column"),
    PatternClass("vertical_diagonal", "m", "a column and a diagonal stand out"),
    PatternClass("block", "b", "look for it first: squares along the diagonal, filled, with edges"),
    PatternClass("heterogeneous", "h", "none of these: scattered, even, or changing row by row"),
)

#: Names in the order of the network's outputs and of the table's rows.
PATTERNS: Final = tuple(c.name for c in CLASSES)
