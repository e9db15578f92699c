"""A corpus in random order."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from headscope.corpora.corpus import Corpus
from headscope.types import Sequence

#: Sequences held in memory at a time; the files are read once for as many.
_BLOCK = 4096


class ShuffledCorpus(Corpus):
    """The sequences of another corpus in an order drawn by `seed`, with flat memory.

    Whoever stops early has then seen a uniform sample of the corpus, and not its first document.
    Ids, counts and fingerprint stay those of the corpus itself.

    >>> corpus = ShuffledCorpus(Corpus.of(["a", "b", "c", "d", "e"]), seed=3)
    >>> [s.text for s in corpus] == [s.text for s in corpus.sequences(0, 5)]
    True
    >>> sorted(s.text for s in corpus)
    ['a', 'b', 'c', 'd', 'e']
    """

    def __init__(self, corpus: Corpus, seed: int = 0) -> None:
        self.__dict__.update(corpus.__getstate__())
        self.order_seed = seed
        self._order: list[int] | None = None
        self._block: tuple[int, list[Sequence]] = (0, [])

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_block": (0, [])}

    def _range(self, start: int, stop: int | None) -> Iterator[Sequence]:
        n = self.scan().n_sequences
        for place in range(start, n if stop is None else min(stop, n)):
            first, held = self._block
            if not first <= place < first + len(held):
                first, held = self._block = (place, self._read_block(place))
            yield held[place - first]

    def _read_block(self, start: int) -> list[Sequence]:
        if self._order is None:
            # Python's own generator promises the same order in every version.
            self._order = list(range(self.scan().n_sequences))
            random.Random(self.order_seed).shuffle(self._order)
        place = {index: i for i, index in enumerate(self._order[start : start + _BLOCK])}
        found = {place[i]: s for i, s in enumerate(self._chosen()) if i in place}
        return [found[i] for i in range(len(place))]
