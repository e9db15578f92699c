"""Token maps merged to word maps in one pass over memory, on the processor.

The same sums as `word_attention`'s two matrix products, without their n³: every weight is read once
and added where it belongs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.models.compiled import compiled, in_parts

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]


def merged_maps(
    pattern: Floats,
    units: Ints,
    shares: Floats,
    key_units: Ints,
    shape: tuple[int, int],
    n_threads: int,
) -> Floats:
    """word[a, b] = Σ_{q ∈ a} share[q] · Σ_{k ∈ b} pattern[q, k], for [batch, head, query, key].

    `units[batch, token]` is a token's word, -1 on padding; `shape` the numbers of words of queries
    and of keys; what no token belongs to stays 0.

    >>> pattern = np.array([[[[0.5, 0.25, 0.25], [0.0, 1.0, 0.0], [0.5, 0.0, 0.5]]]], np.float32)
    >>> units, shares = np.array([[0, 1, 1]]), np.array([[1.0, 0.5, 0.5]], np.float32)
    >>> merged_maps(pattern, units, shares, units, (2, 2), 1).tolist()
    [[[[0.5, 0.5], [0.25, 0.75]]]]
    """
    n_batch, n_heads = pattern.shape[:2]
    out = np.zeros((n_batch, n_heads, *shape), np.float32)
    whole = np.ascontiguousarray(pattern, np.float32)

    def part(first: int, last: int) -> None:
        _merge(whole, units, shares, key_units, out, first, last)

    in_parts(part, n_batch * n_heads, n_threads)
    return out


@compiled
def _merge(
    pattern: Any, units: Any, shares: Any, key_units: Any, out: Any, first: int, last: int
) -> None:
    n_heads, n_query, n_key = pattern.shape[1], pattern.shape[2], pattern.shape[3]
    for task in range(first, last):
        batch, head = task // n_heads, task % n_heads
        keys = key_units[batch]
        for query in range(n_query):
            word, share = units[batch, query], shares[batch, query]
            if word < 0 or share == 0:
                continue
            row, into = pattern[batch, head, query], out[batch, head, word]
            for key in range(n_key):
                if keys[key] >= 0:
                    into[keys[key]] += share * row[key]
