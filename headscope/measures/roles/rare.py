"""The corpus's least frequent words."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from jaxtyping import Bool
from numpy.typing import ArrayLike
from torch import Tensor

from headscope.measures.roles.role import RoleBatch, role
from headscope.types import Encoded


def rare_count(counts: ArrayLike, quantile: float) -> int:
    """How often a type may occur at most to be rare: the quantile of the types' counts.

    All types with that count are rare, so their share can be larger than the quantile: words that
    occur once are often half of all types. 0, which no type has, where there are no counts.

    >>> rare_count([1, 1, 2, 3, 9, 0], 0.1), rare_count([5, 7, 9], 0.5)
    (1, 7)
    """
    found = np.asarray(counts)
    found = found[found > 0]
    if not found.size:
        return 0
    return int(np.quantile(found, quantile, method="inverted_cdf"))


@role("rare", across=True)
def rare(batch: RoleBatch) -> Bool[Tensor, "batch 1 key"]:
    """The rarest words of the corpus, counted by lower-cased form; tokens where it has no words."""
    facts, quantile = batch.facts, batch.options.rare_quantile
    word_limit = rare_count(list(facts.word_counts.values()), quantile)
    token_limit = rare_count(facts.token_counts, quantile)

    def flags(encoded: Encoded) -> Iterable[bool]:
        sequence = encoded.sequence
        if sequence.words is None:
            counts = facts.token_counts[encoded.input_ids] if token_limit else np.array([])
            return [*((counts <= token_limit) & (encoded.segments[: len(counts)] >= 0))]
        known = [
            facts.word_counts.get(sequence.word_text(i).lower(), 0) <= word_limit
            for i in range(len(sequence.words))
        ]
        marked = np.array([*known, False])  # the last is for tokens outside any word
        return [*(marked[encoded.words] & bool(word_limit))]

    return batch.keys_where(flags(encoded) for encoded in batch.encoded)
