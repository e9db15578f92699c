"""What the plan of a pass learns about the whole corpus before the pass begins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from headscope.types.encoded import Encoded


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """Counts over the whole corpus that a measure may need for every sequence.

    `token_counts[id]` is how often a token id occurs, padding and decoder sides not counted;
    `word_counts` is the same for the lower-cased words of sequences that have words;
    `n_sequences` is how many sequences there are, 0 where nobody counted.
    """

    token_counts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    word_counts: Mapping[str, int] = field(default_factory=dict)
    n_sequences: int = 0


class FactsBuilder:
    """Gathers facts sequence by sequence.

    >>> builder = FactsBuilder()
    >>> builder.build().token_counts.sum()
    np.int64(0)
    """

    def __init__(self) -> None:
        self._tokens = np.zeros(0, np.int64)
        self._words: Counter[str] = Counter()
        self._n_sequences = 0

    def add(self, encoded: Encoded) -> None:
        sequence = encoded.sequence
        words: Counter[str] = Counter()
        if sequence.words is not None:
            words.update(sequence.word_text(i).lower() for i in range(len(sequence.words)))
        self.merge(np.bincount(encoded.input_ids), words, 1)

    def merge(
        self, token_counts: NDArray[np.int64], word_counts: Mapping[str, int], n_sequences: int
    ) -> None:
        """Add what was counted over some sequences."""
        self._n_sequences += n_sequences
        if len(token_counts) > len(self._tokens):
            self._tokens = np.pad(self._tokens, (0, len(token_counts) - len(self._tokens)))
        self._tokens[: len(token_counts)] += token_counts
        self._words.update(word_counts)

    def build(self) -> Facts:
        return Facts(self._tokens, dict(self._words), self._n_sequences)
