"""Attention summed by the label of each pair of tokens, in one pass over memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.models.compiled import compiled, in_parts


@dataclass(frozen=True, eq=False)
class LabelRuns:
    """Neighbouring keys with one label, for every query of every sequence.

    Row (b, q) has the runs `starts[row]` up to `starts[row + 1]`; run i reaches from the end of the
    one before it to `ends[i]` and has the label `labels[i]`. A run is summed without looking at
    labels, eight weights at a time.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int32]
    labels: NDArray[np.uint8]

    @classmethod
    def of(cls, labels: NDArray[np.uint8]) -> LabelRuns:
        """The runs of `labels[batch, query, key]`.

        >>> found = LabelRuns.of(np.array([[[0, 0, 1], [1, 1, 1]]], np.uint8))
        >>> found.starts.tolist(), found.ends.tolist(), found.labels.tolist()
        ([0, 2, 3], [2, 3, 3], [0, 1, 1])
        """
        rows = labels.reshape(-1, labels.shape[-1])
        last = np.ones(rows.shape, bool)
        last[:, :-1] = rows[:, 1:] != rows[:, :-1]
        row, key = last.nonzero()
        starts = np.searchsorted(row, np.arange(len(rows) + 1))
        return cls(starts, (key + 1).astype(np.int32), rows[last])


def summed_by_label(
    pattern: NDArray[np.float32], runs: LabelRuns, n_labels: int, n_threads: int
) -> NDArray[np.float64]:
    """Σ of pattern[head, query, key] over the pairs of every label, [batch, head, label].

    >>> runs = LabelRuns.of(np.array([[[0, 1], [1, 1]]], np.uint8))
    >>> pattern = np.array([[[[0.5, 0.5], [0.25, 0.75]]]], np.float32)
    >>> summed_by_label(pattern, runs, 2, 1).tolist()
    [[[0.5, 1.5]]]
    """
    n_batch, n_heads = pattern.shape[:2]
    whole = np.ascontiguousarray(pattern, np.float32)
    out = np.zeros((n_batch, n_heads, n_labels))

    def part(first: int, last: int) -> None:
        _summed(whole, runs.starts, runs.ends, runs.labels, out, first, last)

    in_parts(part, n_batch * n_heads, n_threads)
    return out


@compiled
def _summed(
    pattern: Any, starts: Any, ends: Any, labels: Any, out: Any, first: int, last: int
) -> None:
    n_heads, n_query = pattern.shape[1], pattern.shape[2]
    for task in range(first, last):
        batch, head = task // n_heads, task % n_heads
        into = out[batch, head]
        for query in range(n_query):
            mine, row, key = pattern[batch, head, query], batch * n_query + query, 0
            for run in range(starts[row], starts[row + 1]):
                total = np.float32(0)
                for k in range(key, ends[run]):
                    total += mine[k]
                into[labels[run]] += total
                key = ends[run]
