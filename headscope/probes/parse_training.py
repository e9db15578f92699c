"""Train several parsing probes at once while sentences stream through the frozen model.

No attention map outlives its batch: a forward pass gives the maps, every probe that reads them
takes one step, and they are dropped. What stays in memory is the encoded text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from headscope.models import LoadedModel
from headscope.probes.attention_probe import squared_spread
from headscope.probes.distance_probe import right_branching
from headscope.probes.parse_batch import ParseBatch, WordMaps, parse_batch, word_maps
from headscope.probes.student import Student
from headscope.types import Encoded

#: A batch has at most so many sentences, and so many pairs of words (of the padded batch).
MAX_SENTENCES, MAX_PAIRS = 48, 48_000
_POOL = 2048

Advance = Callable[[int], None]


@dataclass(frozen=True, eq=False)
class Classroom:
    """What all probes share: the models by name, the word vectors, and the seed."""

    models: Mapping[str, LoadedModel]
    vectors: Tensor
    row_of: Callable[[str], int]
    seed: int = 0

    @property
    def model(self) -> LoadedModel:
        return next(iter(self.models.values()))

    def epoch(
        self, students: Sequence[Student], encoded: Sequence[Encoded], number: int, advance: Advance
    ) -> None:
        """One epoch for every student that has not learnt enough, in an order of its own."""
        for part in shuffled_batches(encoded, self.seed, number):
            batch = parse_batch(part, self.model, self.row_of)
            maps, vectors = self._shown(batch)
            for student in students:
                student.learn(maps, vectors, batch)
            advance(len(part))

    def examine(
        self, students: Sequence[Student], encoded: Sequence[Encoded], advance: Advance
    ) -> tuple[dict[str, int], int]:
        """How many words get their gold head from every student, and how many there are.

        `right_branching` is examined with them.
        """
        right = dict.fromkeys([*(s.name for s in students), "right_branching"], 0)
        n_words = 0
        for part in sorted_batches(encoded):
            batch = parse_batch(part, self.model, self.row_of)
            maps, vectors = self._shown(batch)
            predicted = {s.name: s.predict(maps, vectors, batch) for s in students}
            predicted["right_branching"] = right_branching(batch)
            for name, heads in predicted.items():
                right[name] += int(((heads == batch.heads) & batch.scored).sum())
            n_words += int(batch.scored.sum())
            advance(len(part))
        return right, n_words

    def measure_spread(self, name: str, encoded: Sequence[Encoded], advance: Advance) -> float:
        """How much a model's attention differs between candidates: root mean square."""
        total, n = 0.0, 0
        for part in sorted_batches(encoded):
            batch = parse_batch(part, self.model, self.row_of)
            squares, n_pairs = squared_spread(word_maps(self.models[name], batch), batch)
            total, n = total + squares, n + n_pairs
            advance(len(part))
        return math.sqrt(total / max(n, 1))

    def _shown(self, batch: ParseBatch) -> tuple[Callable[[str], WordMaps], Tensor]:
        """The maps of any model, computed when first asked for, and the words' vectors."""
        seen: dict[str, WordMaps] = {}

        def maps(name: str) -> WordMaps:
            if name not in seen:
                seen[name] = word_maps(self.models[name], batch)
            return seen[name]

        vectors = self.vectors[batch.rows]
        vectors[:, 0] = 0.0  # ROOT is no word
        return maps, vectors


def sorted_batches(encoded: Sequence[Encoded]) -> Iterator[list[Encoded]]:
    """Sentences of about one length together, shortest first, within the limits of a batch."""
    part: list[Encoded] = []
    for one in sorted(encoded, key=_length):
        if part and (len(part) >= MAX_SENTENCES or (len(part) + 1) * _length(one) ** 2 > MAX_PAIRS):
            yield part
            part = []
        part.append(one)
    if part:
        yield part


def shuffled_batches(encoded: Sequence[Encoded], seed: int, epoch: int) -> Iterator[list[Encoded]]:
    """Batches of about one length in random order; the same for the same seed and epoch."""
    random = np.random.default_rng([seed, epoch])
    order = random.permutation(len(encoded))
    batches: list[list[Encoded]] = []
    for start in range(0, len(order), _POOL):
        batches += sorted_batches([encoded[i] for i in order[start : start + _POOL]])
    for i in random.permutation(len(batches)):
        yield batches[i]


def held_out(n: int, share: float, seed: int) -> tuple[list[int], list[int]]:
    """Indices to learn from, and those held out to decide when to stop; both in order.

    >>> learn, held = held_out(20, 0.1, seed=0)
    >>> len(learn), len(held), set(learn) & set(held)
    (18, 2, set())
    """
    chosen = np.random.default_rng(seed).choice(n, max(1, round(share * n)), replace=False)
    held = set(chosen.tolist())
    return [i for i in range(n) if i not in held], sorted(held)


def _length(one: Encoded) -> int:
    return 1 + len(one.sequence.words or ())
