"""Which word each token belongs to, by characters alone."""

from __future__ import annotations

from collections.abc import Sequence as SequenceABC
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from headscope.corpora.tokens import Texts, Tokens
from headscope.types import TokenKind, Word

_LAST_SPACE = 0x3000
#: Is a code point white space; the last entry stands for all beyond.
_IS_SPACE = np.array([chr(c).isspace() for c in range(_LAST_SPACE + 2)])


@dataclass(frozen=True, slots=True)
class Aligned:
    """Flat arrays over the tokens of many texts, as `Tokens` has them.

    `words` counts inside each text's own words; `starts` and `ends` are trimmed of white space,
    which byte-level and SentencePiece tokenizers count to the word after it. `bare` lists each
    text's first word without a token: (text, word, whether a token of an earlier word covers it).
    """

    words: NDArray[np.int32]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    kinds: NDArray[np.int8]
    bare: list[tuple[int, int, bool]]


def align(
    tokens: Tokens, texts: SequenceABC[Texts], words: SequenceABC[SequenceABC[Word]]
) -> Aligned:
    """Align all texts in one go: all of them are laid end to end, and so are their words.

    A token belongs to the first word it shares a character with. `Word.segment` counts in the
    text's own segments.
    """
    characters = np.frombuffer("".join(chain.from_iterable(texts)).encode("utf-32-le"), "<u4")
    bases, text_of_token = _bases(texts), tokens.texts
    base = bases[text_of_token, np.maximum(tokens.segments, 0)]
    starts, ends = _trim(tokens.starts + base, tokens.ends + base, tokens.special, characters)

    kinds = np.full(len(starts), TokenKind.OTHER, np.int8)
    (single,) = np.nonzero((ends - starts == 1) & ~tokens.special)
    alone = characters[starts[single]]
    kinds[single[alone == ord(".")]] = TokenKind.PERIOD
    kinds[single[alone == ord(",")]] = TokenKind.COMMA

    n_words = np.array([len(ws) for ws in words], np.int64)
    first = np.concatenate(([0], np.cumsum(n_words)))
    total = int(first[-1])
    token_words = np.full(len(starts), -1, np.int32)
    bare: list[tuple[int, int, bool]] = []
    if total:
        flat = np.fromiter(
            chain.from_iterable(chain.from_iterable(words)), np.int64, 3 * total
        ).reshape(total, 3)
        text_of_word = np.repeat(np.arange(len(texts)), n_words)
        word_base = bases[text_of_word, flat[:, 0]]
        word_starts, word_ends = flat[:, 1] + word_base, flat[:, 2] + word_base
        found = np.searchsorted(word_ends, starts, side="right")
        inside = np.minimum(found, total - 1)
        hit = ~tokens.special & (ends > starts) & (found < total) & (word_starts[inside] < ends)
        token_words[hit] = (inside - first[text_of_token])[hit]
        has_token = np.zeros(total, np.bool_)
        has_token[inside[hit]] = True
        without = np.flatnonzero(~has_token)
        _, firsts = np.unique(text_of_word[without], return_index=True)
        for word in without[firsts].tolist():
            shared = bool(np.any(hit & (starts < word_ends[word]) & (ends > word_starts[word])))
            text = int(text_of_word[word])
            bare.append((text, word - int(first[text]), shared))
    return Aligned(token_words, starts - base, ends - base, kinds, bare)


def _bases(texts: SequenceABC[Texts]) -> NDArray[np.int64]:
    """Where each text's segments start when all are laid end to end."""
    lengths = np.array([(len(t[0]), len(t[1]) if len(t) == 2 else 0) for t in texts], np.int64)
    lengths = lengths.reshape(-1)
    return (np.cumsum(lengths) - lengths).reshape(-1, 2)


def _trim(
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    special: NDArray[np.bool_],
    characters: NDArray[np.uint32],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Offsets without white space at their ends; a token of nothing else stays as it is."""
    n = len(characters)
    space = _IS_SPACE[np.minimum(characters, _LAST_SPACE + 1)]
    at = np.arange(n)
    # The next (previous) character that is no white space, from each character on.
    after = np.append(np.minimum.accumulate(np.where(space, n, at)[::-1])[::-1], n)
    before = np.append(np.maximum.accumulate(np.where(space, -1, at)), n)
    trimmed_starts = after[np.minimum(starts, n)]
    trimmed_ends = before[np.maximum(ends - 1, 0)] + 1
    text = ~special & (trimmed_starts < ends) & (ends > starts)
    return np.where(text, trimmed_starts, starts), np.where(text, trimmed_ends, ends)
