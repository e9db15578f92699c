"""Attention summed by the label of each pair of tokens, in one pass over memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.models.compiled import compiled, in_parts


def summed_by_label(
    pattern: NDArray[np.float32], labels: NDArray[np.uint8], n_labels: int, n_threads: int
) -> NDArray[np.float64]:
    """Σ of pattern[head, query, key] over the pairs of every label, [batch, head, label].

    >>> pattern = np.array([[[[0.5, 0.5], [0.25, 0.75]]]], np.float32)
    >>> summed_by_label(pattern, np.array([[[0, 1], [1, 1]]], np.uint8), 2, 1).tolist()
    [[[0.5, 1.5]]]
    """
    n_batch, n_heads = pattern.shape[:2]
    flat = np.ascontiguousarray(pattern, np.float32).reshape(n_batch, n_heads, -1)
    marks = np.ascontiguousarray(labels, np.uint8).reshape(n_batch, -1)
    out = np.zeros((n_batch, n_heads, n_labels))
    in_parts(
        lambda first, last: _summed(flat, marks, out, first, last), n_batch * n_heads, n_threads
    )
    return out


@compiled
def _summed(flat: Any, labels: Any, out: Any, first: int, last: int) -> None:
    n_heads = flat.shape[1]
    for task in range(first, last):
        batch, head = task // n_heads, task % n_heads
        mine, marks, into = flat[batch, head], labels[batch], out[batch, head]
        for pair in range(len(mine)):
            into[marks[pair]] += mine[pair]
