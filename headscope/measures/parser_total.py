"""What a corpus adds up to for heads as parsers: how often each was right, and which is best."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from headscope.measures.measure import Place, Total
from headscope.models import StackLayout
from headscope.types import Stack
from headscope.values import Bundle, Counts, Reservoir, TopK

#: Fixed distances from a word to its head, in words: what a head has to beat.
OFFSETS: Final = tuple(offset for offset in range(-5, 6) if offset != 0)


class Best(NamedTuple):
    """The head that is right most often at a relation, and in which direction."""

    layer: int
    head: int
    direction: int


@dataclass(frozen=True)
class ParserTotal:
    """The sums of one stack. Every Counts of `layers` is [half, direction, head].

    Layers that nobody looked at are empty in `layers`, `predictions` and `maps`.
    """

    stack: Stack
    n_heads: tuple[int, ...]
    layers: Sequence[Mapping[str, Counts]]
    offsets: Mapping[str, Counts]
    sentences: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    predictions: Sequence[Mapping[str, str]] = ()
    drawn: Sequence[str] = ()
    maps: Sequence[Mapping[str, str]] = ()

    @classmethod
    def of(cls, total: Total, stack: StackLayout) -> ParserTotal | None:
        """The values of a stack, relation by relation; None where it saw no arc."""
        found = {layer: total.values.get(Place(stack.stack, layer)) for layer in stack.seen}
        known = {n: v for n, v in found.items() if isinstance(v, Bundle) and len(v)}
        if len(known) < len(found) or not known:
            return None
        first = known[stack.seen[0]]
        texts = first.part("sentences", Bundle)
        sampled, drawn = texts.part("sampled", Reservoir), texts.part("drawn", TopK)
        return cls(
            stack=stack.stack,
            n_heads=stack.n_heads,
            layers=[
                _by_relation(known[n].part("heads", Bundle)) if n in known else {}
                for n in range(stack.n_layers)
            ],
            offsets=_by_relation(first.part("offsets", Bundle)),
            sentences={e.id: json.loads(e.text) for e in (*sampled.examples, *drawn.examples)},
            predictions=[
                _texts(known.get(n), "predictions", Reservoir) for n in range(stack.n_layers)
            ],
            drawn=[e.id for e in drawn.examples],
            maps=[_texts(known.get(n), "maps", TopK) for n in range(stack.n_layers)],
        )

    @property
    def relations(self) -> list[str]:
        """`all`, then the relations by how often they occur."""
        support = {name: int(counts.trials.sum()) for name, counts in self.offsets.items()
                   if counts.trials is not None}  # fmt: skip
        return ["all", *sorted(support.keys() - {"all"}, key=lambda name: (-support[name], name))]

    def right(self, relation: str) -> NDArray[np.int64]:
        """[half, layer · direction · head], in that order: how often each head was right."""
        return np.concatenate(
            [layer[relation].counts.reshape(2, -1) for layer in self.layers if layer], axis=1
        )

    def tried(self, relation: str) -> NDArray[np.int64]:
        """[half]: how many arcs there were."""
        trials = self.offsets[relation].trials
        assert trials is not None
        return trials[:, 0]

    def best(self, flat: int) -> Best:
        """The head behind a column of `right`."""
        for layer, n_heads in enumerate(self.n_heads):
            if flat < 2 * n_heads:
                return Best(layer, flat % n_heads, flat // n_heads)
            flat -= 2 * n_heads
        raise IndexError(flat)


def _texts(value: Bundle | None, name: str, kind: type[Reservoir] | type[TopK]) -> dict[str, str]:
    return {} if value is None else {e.id: e.text for e in value.part(name, kind).examples}


def _by_relation(part: Bundle) -> dict[str, Counts]:
    relations = part.part("relations", Bundle)
    named: dict[str, Counts] = {name: relations.part(name, Counts) for name in relations}
    # a corpus that calls a relation `all` keeps it apart from the score over all words
    if "all" in named:
        named["all (label)"] = named.pop("all")
    return {**named, "all": part.part("all", Counts)}


def held_out(right: NDArray[np.int64], tried: NDArray[np.int64]) -> float:
    """Accuracy of the column that is best on one half, on the other half; both ways, pooled.

    >>> held_out(np.array([[3, 1], [0, 2]]), np.array([4, 4]))      # column 0, then column 1
    0.125
    """
    if not tried.all():
        return float("nan")
    first, second = right[0].argmax(), right[1].argmax()
    return float((right[1, first] + right[0, second]) / tried.sum())


def best_offset(found: ParserTotal, relation: str) -> tuple[int, int]:
    """The index of the best fixed offset and how often it is right."""
    right = found.offsets[relation].counts.sum(axis=0)
    # among equals the nearest, the right neighbour before the left one
    order = sorted(range(len(OFFSETS)), key=lambda i: (-right[i], abs(OFFSETS[i]), -OFFSETS[i]))
    return order[0], int(right[order[0]])


def best_heads(found: ParserTotal) -> dict[str, Best]:
    """Per relation the head and direction with the highest accuracy; the first of equals."""
    return {
        relation: found.best(int(found.right(relation).sum(axis=0).argmax()))
        for relation in found.relations
        if found.tried(relation).sum()
    }
