"""Which links between frame-evoking words and core elements are measured, and their controls."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from headscope.types import Encoded, Frame, Sequence

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Filters:
    """Kovaleva et al.'s filters, in words; `drop` says what a violation costs."""

    max_element: int = 3
    max_sentence: int = 12
    min_apart: int = 2
    drop: Literal["sentence", "element"] = "sentence"


@dataclass(frozen=True, slots=True)
class Link:
    """A target and an element as spans of tokens, and how far both may move together."""

    target: Span
    element: Span
    least: int
    most: int

    @property
    def n_places(self) -> int:
        return self.most - self.least + 1

    def pairs(self, shift: int) -> Iterator[tuple[int, int]]:
        """All token pairs of the two spans, moved by `shift`."""
        for a in range(*self.target):
            for b in range(*self.element):
                yield a + shift, b + shift


def words_apart(a: Span, b: Span) -> int:
    """The distance of the nearest words of two spans; 1 for neighbours, 0 if they overlap.

    >>> words_apart((0, 2), (3, 4)), words_apart((3, 4), (0, 3)), words_apart((0, 2), (1, 3))
    (2, 1, 0)
    """
    return max(b[0] - a[1] + 1, a[0] - b[1] + 1, 0)


def sentence_of(sequence: Sequence, word: int) -> Span:
    """The words of the sentence a word is in."""
    n_words = len(sequence.words or ())
    starts = sequence.sentences or (0,)
    at = bisect_right(starts, word) - 1
    return starts[at], starts[at + 1] if at + 1 < len(starts) else n_words


def kept_elements(sequence: Sequence, frame: Frame, filters: Filters) -> list[Span]:
    """The elements of a frame that pass the filters; none if the sentence does not."""
    first, last = sentence_of(sequence, frame.target[0])
    inside = all(first <= s and e <= last for _, s, e in frame.elements)
    if last - first > filters.max_sentence or frame.target[1] > last or not inside:
        return []
    spans = list(dict.fromkeys((start, end) for _, start, end in frame.elements))
    good = [
        span
        for span in spans
        if span[1] - span[0] <= filters.max_element
        and words_apart(frame.target, span) >= filters.min_apart
    ]
    return [] if filters.drop == "sentence" and len(good) < len(spans) else good


def frame_links(encoded: Encoded, filters: Filters) -> Iterator[list[Link]]:
    """The links of every frame that passes the filters, in tokens."""
    sequence = encoded.sequence
    for frame in sequence.frames or ():
        elements = kept_elements(sequence, frame, filters)
        bounds = _tokens(encoded, sentence_of(sequence, frame.target[0]))
        target = _tokens(encoded, frame.target)
        links = []
        for span in elements:
            element = _tokens(encoded, span)
            if target and element and bounds:
                least = bounds[0] - min(target[0], element[0])
                most = bounds[1] - max(target[1], element[1])
                links.append(Link(target, element, least, most))
        if links:
            yield links


def _tokens(encoded: Encoded, words: Span) -> Span | None:
    where = np.flatnonzero((encoded.words >= words[0]) & (encoded.words < words[1]))
    return (int(where[0]), int(where[-1]) + 1) if len(where) else None


def drawn_places(
    sequence: str, frame: int, links: list[Link], n_draws: int, seed: int
) -> NDArray[np.int64]:
    """`[draw, link]`: where each link is moved to, out of its places, by a hash of what it is."""
    name = f"{seed}\N{NULL}{frame}\N{NULL}{sequence}".encode("utf-8", "surrogatepass")
    key = int.from_bytes(hashlib.blake2b(name, digest_size=16).digest(), "little")
    places = [link.n_places for link in links]
    return np.random.default_rng(key).integers(0, places, size=(n_draws, len(links)))
