"""Scores of all roles from the few weights that their sieves let through, on the processor.

A sieve names a handful of a token's keys, so of all pairs of tokens and roles nearly all count
nothing: only those that do are kept, and read in the order in which they lie in memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.models.compiled import compiled, in_parts


@dataclass(frozen=True, eq=False)
class SparseSieves:
    """The keys of every token's sieve: row (b, r, q) has `keys[starts[row] : starts[row + 1]]`.

    `weights[b, r, q]` is what each of them is worth, `present[b, r]` whether a text has the role.
    """

    starts: NDArray[np.int64]
    keys: NDArray[np.int32]
    weights: NDArray[np.float64]
    present: NDArray[np.bool_]

    @classmethod
    def of(cls, sieves: NDArray[np.bool_], allowed: NDArray[np.bool_]) -> SparseSieves:
        """From `sieves[batch, role, query, key]` and the keys that each query may see at all.

        The weights are those of `sieve_weights`: n(q) / (|S(q)| · |T|).

        >>> previous = np.eye(2, k=-1, dtype=bool)[None, None]
        >>> found = SparseSieves.of(previous, np.ones((1, 2, 2), bool))
        >>> found.starts.tolist(), found.keys.tolist(), found.weights.tolist()
        ([0, 0, 1], [0], [[[0.0, 2.0]]])
        """
        size = np.zeros(sieves.shape[:-1], np.int64)
        _count(sieves, allowed, size)
        n_rows = np.count_nonzero(size, axis=-1)
        n_seen = np.count_nonzero(allowed, axis=-1)[:, None]
        share = np.where(size > 0, n_seen / np.maximum(size * n_rows[..., None], 1), 0.0)
        starts = np.concatenate([[0], np.cumsum(size)])
        keys = np.zeros(starts[-1], np.int32)
        _gather(sieves, allowed, starts, keys)
        return cls(starts, keys, share, n_rows > 0)


def sieve_scores(
    pattern: NDArray[np.float32], sieves: SparseSieves, n_threads: int
) -> NDArray[np.float32]:
    """score[batch, head, role] = Σ over queries of weight · Σ over its sieve of pattern[head].

    NaN where a text lacks the role.

    >>> previous = SparseSieves.of(
    ...     np.eye(2, k=-1, dtype=bool)[None, None], np.ones((1, 2, 2), bool)
    ... )
    >>> sieve_scores(np.array([[[[0.5, 0.5], [0.25, 0.75]]]], np.float32), previous, 1).tolist()
    [[[0.5]]]
    """
    n_batch, n_heads = pattern.shape[:2]
    whole = np.ascontiguousarray(pattern, np.float32)
    out = np.zeros((n_batch, n_heads, sieves.weights.shape[1]))

    def part(first: int, last: int) -> None:
        _scores(whole, sieves.starts, sieves.keys, sieves.weights, out, first, last)

    in_parts(part, n_batch * n_heads, n_threads)
    out[np.broadcast_to(~sieves.present[:, None], out.shape)] = np.nan
    return out.astype(np.float32)


@compiled
def _count(sieves: Any, allowed: Any, size: Any) -> None:
    n_batch, n_roles, n_query, n_key = sieves.shape
    for batch in range(n_batch):
        for role in range(n_roles):
            for query in range(n_query):
                sieve, seen, n = sieves[batch, role, query], allowed[batch, query], 0
                for key in range(n_key):
                    n += sieve[key] & seen[key]
                size[batch, role, query] = n


@compiled
def _gather(sieves: Any, allowed: Any, starts: Any, keys: Any) -> None:
    n_batch, n_roles, n_query = sieves.shape[:3]
    row = 0
    for batch in range(n_batch):
        for role in range(n_roles):
            for query in range(n_query):
                place, end = starts[row], starts[row + 1]
                row += 1
                sieve, seen, key = sieves[batch, role, query], allowed[batch, query], 0
                while place < end:
                    if sieve[key] & seen[key]:
                        keys[place] = key
                        place += 1
                    key += 1


@compiled
def _scores(
    pattern: Any, starts: Any, keys: Any, weights: Any, out: Any, first: int, last: int
) -> None:
    n_heads, n_query = pattern.shape[1], pattern.shape[2]
    n_roles = weights.shape[1]
    for task in range(first, last):
        batch, head = task // n_heads, task % n_heads
        for role in range(n_roles):
            row = (batch * n_roles + role) * n_query
            for query in range(n_query):
                if starts[row + query] == starts[row + query + 1]:
                    continue
                mine, total = pattern[batch, head, query], 0.0
                for i in range(starts[row + query], starts[row + query + 1]):
                    total += mine[keys[i]]
                out[batch, head, role] += weights[batch, role, query] * total
