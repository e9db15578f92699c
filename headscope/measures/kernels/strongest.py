"""What each word attends to most, and what attends to it most, in one pass over a word map."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.models.compiled import compiled, in_parts


def strongest(
    words: NDArray[np.float32], candidates: NDArray[np.bool_], n_threads: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The index of the largest weight among candidates of every row, and of every column.

    `words[batch, head, word, other]`, `candidates[batch, word, other]`; the first of equals, -1
    where no candidate has any weight.

    >>> words = np.array([[[[0.1, 0.7, 0.2], [0.3, 0.3, 0.4], [0.9, 0.1, 0.0]]]], np.float32)
    >>> [found.tolist() for found in strongest(words, ~np.eye(3, dtype=bool)[None], 1)]
    [[[[1, 2, 0]]], [[[2, 0, 1]]]]
    """
    n_batch, n_heads, n_words, n_others = words.shape
    rows = np.full((n_batch, n_heads, n_words), -1)
    columns = np.full((n_batch, n_heads, n_others), -1)
    whole = np.ascontiguousarray(words, np.float32)

    def part(first: int, last: int) -> None:
        _find(whole, candidates, rows, columns, first, last)

    in_parts(part, n_batch * n_heads, n_threads)
    return rows, columns


@compiled
def _find(words: Any, candidates: Any, rows: Any, columns: Any, first: int, last: int) -> None:
    n_heads, n_words, n_others = words.shape[1], words.shape[2], words.shape[3]
    most = np.zeros(n_others, np.float32)
    for task in range(first, last):
        batch, head = task // n_heads, task % n_heads
        most[:] = 0
        found = columns[batch, head]
        for word in range(n_words):
            row, allowed = words[batch, head, word], candidates[batch, word]
            largest, place = np.float32(0), -1
            for other in range(n_others):
                weight = row[other] if allowed[other] else np.float32(0)
                if weight > largest:
                    largest, place = weight, other
                if weight > most[other]:
                    most[other] = weight
                    found[other] = word
            rows[batch, head, word] = place
