"""Annotation by characters, turned into annotation by words."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from collections.abc import Sequence as SequenceABC

from headscope.types import Word

_TOKEN = re.compile(r"\w+|[^\w\s]")
_WHITE = re.compile(r"\S+")


def white_space_words(text: str) -> tuple[Word, ...]:
    """Words as white space separates them.

    >>> [(w.start, w.end) for w in white_space_words("Just stay .")]
    [(0, 4), (5, 9), (10, 11)]
    """
    return tuple(Word(0, m.start(), m.end()) for m in _WHITE.finditer(text))


def simple_words(text: str, borders: Iterable[int] = ()) -> tuple[Word, ...]:
    """Runs of letters and digits, and single other characters, also divided at `borders`.

    >>> text = "Ann's cat"
    >>> [text[w.start:w.end] for w in simple_words(text)]
    ['Ann', "'", 's', 'cat']
    """
    cuts = sorted(set(borders))
    words: list[Word] = []
    for match in _TOKEN.finditer(text):
        start = match.start()
        for cut in cuts[bisect_right(cuts, start) : bisect_left(cuts, match.end())]:
            words.append(Word(0, start, cut))
            start = cut
        words.append(Word(0, start, match.end()))
    return tuple(words)


def words_of(words: SequenceABC[Word], start: int, end: int) -> tuple[int, int] | None:
    """The words that overlap the characters [start, end), or None if none does."""
    first = bisect_right(words, start, key=lambda word: word.end)
    last = bisect_left(words, end, key=lambda word: word.start)
    return (first, last) if first < last else None
