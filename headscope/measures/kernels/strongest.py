"""What each word attends to most, and what attends to it most, straight from token maps.

The same as merging tokens to words and looking for the largest weight of every row and column, but
for the words of one sentence alone, and through one map's worth of memory per thread: what is
merged is looked at while it is still in the cache.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.models.compiled import compiled, in_parts

Ints = NDArray[np.int64]

#: Weights looked at together: a few registers full.
BLOCK = 32


@dataclass(frozen=True, eq=False)
class SentenceWords:
    """Which tokens make up which word, and which words a sentence.

    `units[batch, token]` is a token's word, -1 on padding; `shares[batch, token]` its part in the
    word's row; `sentences[batch, word]` the sentence of a word, -1 outside any, and
    `tokens[batch, token]` that of a token. `reach[batch, word]` says where its sentence is.
    """

    units: Ints
    shares: NDArray[np.float32]
    sentences: Ints
    tokens: Ints
    reach: Ints

    @classmethod
    def of(cls, units: Ints, shares: NDArray[np.float32], sentences: Ints) -> SentenceWords:
        tokens = np.take_along_axis(sentences, units.clip(min=0), axis=1)
        tokens[units < 0] = -1
        reach = np.stack([_reach(u, s) for u, s in zip(units, sentences, strict=True)])
        return cls(units, shares, sentences, tokens, reach)


def strongest_words(
    pattern: NDArray[np.float32], words: SentenceWords, n_threads: int
) -> tuple[Ints, Ints]:
    """For every word the other word of its sentence that it attends to most, and the other way.

    From `pattern[batch, head, query, key]` between tokens two arrays [batch, head, word]; the first
    of equals, -1 where no candidate has any weight.

    >>> pattern = np.array([[[[0.1, 0.7, 0.2], [0.3, 0.3, 0.4], [0.9, 0.1, 0.0]]]], np.float32)
    >>> units, shares = np.array([[0, 1, 2]]), np.ones((1, 3), np.float32)
    >>> words = SentenceWords.of(units, shares, sentences=np.array([[0, 0, 0]]))
    >>> [found.tolist() for found in strongest_words(pattern, words, 1)]
    [[[[1, 2, 0]]], [[[2, 0, 1]]]]
    """
    n_batch, n_heads = pattern.shape[:2]
    n_words = words.sentences.shape[1]
    rows, columns = np.full((2, n_batch, n_heads, n_words), -1, np.int32)
    whole = np.ascontiguousarray(pattern, np.float32)

    spare: list[NDArray[np.float32]] = []  # one map per thread, all 0 before and after its use

    def part(first: int, last: int) -> None:
        one_map = spare.pop() if spare else np.zeros((n_words, n_words), np.float32)
        _find(
            whole, words.units, words.shares, words.sentences, words.tokens, words.reach,
            one_map, rows, columns, first, last,
        )  # fmt: skip
        spare.append(one_map)

    in_parts(part, n_batch * n_heads, n_threads)
    return rows.astype(np.int64), columns.astype(np.int64)


def _reach(units: Ints, sentences: Ints) -> Ints:
    """For every word where its sentence is: tokens from … to, words from … to, and is it plain?

    Ends are one past the last; plain is a sentence in which every word is one token. All 0 for a
    word outside any sentence.

    >>> _reach(np.array([0, 1, 2, 2, 3]), np.array([-1, 0, 0, -1])).tolist()
    [[0, 0, 0, 0, 0], [1, 4, 1, 3, 0], [1, 4, 1, 3, 0], [0, 0, 0, 0, 0]]
    """
    found = np.zeros((len(sentences), 5), np.int64)
    for sentence in np.unique(sentences[sentences >= 0]):
        inside = sentences == sentence
        words, tokens = np.flatnonzero(inside), np.flatnonzero((units >= 0) & inside[units])
        if len(tokens):
            start, end = tokens[0], tokens[-1] + 1
            is_plain = np.array_equal(units[start:end], np.arange(words[0], words[-1] + 1))
            is_plain &= bool(inside[words[0] : words[-1] + 1].all())
            found[inside] = start, end, words[0], words[-1] + 1, is_plain
    return found


@compiled
def _find(
    pattern: Any, units: Any, shares: Any, sentences: Any, tokens: Any, reach: Any, words: Any,
    rows: Any, columns: Any, first: int, last: int,
) -> None:  # fmt: skip
    # Slices instead of offsets: an index that may be negative is checked, and keeps a loop from
    # being vectorised.
    n_heads, n_query, n_words = pattern.shape[1], pattern.shape[2], words.shape[0]
    most = np.zeros(n_words, np.float32)
    for task in range(first, last):
        batch, head = task // n_heads, task % n_heads
        for query in range(n_query):
            sentence, share = tokens[batch, query], shares[batch, query]
            if sentence < 0 or share == 0:
                continue
            word = units[batch, query]
            start, end, first_word, last_word, is_plain = reach[batch, word]
            row = pattern[batch, head, query, start:end]
            if is_plain:
                into = words[word, first_word:last_word]
                for key in range(len(row)):
                    into[key] += share * row[key]
            else:
                into, unit, other = words[word], units[batch, start:end], tokens[batch, start:end]
                for key in range(len(row)):
                    if other[key] == sentence:
                        into[unit[key]] += share * row[key]
        most[:] = 0
        for word in range(n_words):
            if sentences[batch, word] < 0:
                continue
            _, _, start, end, _ = reach[batch, word]
            words[word, word] = 0
            mine = words[word, start:end]
            rows[batch, head, word] = _first_largest(mine, start)
            _note_larger(mine, np.int32(word), most[start:end], columns[batch, head, start:end])
            mine[:] = 0


@compiled
def _first_largest(weights: Any, start: int) -> int:
    largest = np.float32(0)
    for other in range(len(weights)):
        largest = max(largest, weights[other])
    if largest > 0:
        for other in range(len(weights)):
            if weights[other] == largest:
                return start + other
    return -1


@compiled
def _note_larger(weights: Any, word: int, most: Any, found: Any) -> None:
    """A column's largest weight changes seldom: look at blocks, and closer where one has news."""
    for start in range(0, len(weights), BLOCK):
        mine, known = weights[start : start + BLOCK], most[start : start + BLOCK]
        n_larger = 0
        for other in range(len(mine)):
            n_larger += mine[other] > known[other]
        if n_larger:
            place = found[start : start + BLOCK]
            for other in range(len(mine)):
                if mine[other] > known[other]:
                    known[other], place[other] = mine[other], word
