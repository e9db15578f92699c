"""The five shapes an attention map can have."""

from __future__ import annotations

from typing import Final, NamedTuple


class PatternClass(NamedTuple):
    """A shape by its name in tables, the key that labels it, and the rule in one line."""

    name: str
    key: str
    rule: str


CLASSES: Final = (
    PatternClass("vertical", "v", "one or a few columns hold most of what stands out"),
    PatternClass("diagonal", "d", "a line or band along the diagonal, and no columns beside it"),
    PatternClass("vertical_diagonal", "m", "columns and a diagonal, each plain to see"),
    PatternClass("block", "b", "squares along the diagonal, filled rather than lined"),
    PatternClass("heterogeneous", "h", "none of these: scattered, even, or changing row by row"),
)

#: Names in the order of the network's outputs and of the table's rows.
PATTERNS: Final = tuple(c.name for c in CLASSES)
