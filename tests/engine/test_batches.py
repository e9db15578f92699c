"""Length-sorted batches under a token budget."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headscope.engine.batches import length_sorted, width
from headscope.types import Encoded, Sequence


def _encoded(n_tokens: int, name: str = "s") -> Encoded:
    zeros = np.zeros(n_tokens, np.int64)
    narrow = zeros.astype(np.int8)
    offsets = np.zeros((n_tokens, 2), np.int32)
    return Encoded(Sequence(name, ""), zeros, narrow, narrow, zeros.astype(np.int32), offsets)


@given(st.lists(st.integers(1, 50), max_size=40), st.integers(1, 120))
def test_every_sequence_once_within_the_budget(lengths: list[int], budget: int) -> None:
    items = [_encoded(n, str(i)) for i, n in enumerate(lengths)]
    batches = list(length_sorted(items, budget))
    assert sorted(id(e) for b in batches for e in b) == sorted(id(e) for e in items)
    for batch in batches:
        padded = len(batch) * max(width(e) for e in batch)
        assert padded <= budget or len(batch) == 1
    widths = [width(e) for b in batches for e in b]
    assert widths == sorted(widths)


def test_sequences_of_one_length_keep_their_order() -> None:
    items = [_encoded(4, str(i)) for i in range(10)]
    order = [e.sequence.id for b in length_sorted(items, 12) for e in b]
    assert order == [str(i) for i in range(10)]
