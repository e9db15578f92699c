"""Typed text as the model reads it, with words people would count."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.corpora import Encoder
from headscope.engine.plan import encoder_for
from headscope.errors import UsageError
from headscope.figures.atlas.plain_text import plain_text
from headscope.models import LoadedModel
from headscope.types import Encoded, Sequence, Word

#: A word: letters and digits with marks inside (don't, well-known), a Chinese character, a sign.
_WORD = re.compile(
    r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]"
    r"|[^\W\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+(?:[’'-][^\W\u3400-\u9fff]+)*"
    r"|[^\w\s]"
)
_LONGEST_TOKEN = 60


def words_in(text: str, segment: int = 0) -> list[Word]:
    """The words of a text by their characters.

    >>> [w.start for w in words_in("She didn't, 好的!")]
    [0, 4, 10, 12, 13, 14]
    """
    return [Word(segment, m.start(), m.end()) for m in _WORD.finditer(text)]


def typed(
    model: LoadedModel, text: str, pair: str = "", *, max_tokens: int | None = None
) -> Encoded:
    """One typed text, or two, ready for the model; too much of it is cut and counted.

    Words are found after the tokens, so that a word the tokenizer drops (nothing but zero-width
    characters) is no error here.
    """
    if not text.strip():
        raise UsageError("there is no text to read")
    if any(0xD800 <= ord(c) <= 0xDFFF for c in text + pair):
        raise UsageError("the text has half a character in it (a lone surrogate)")
    sequence = Sequence("typed text", text, pair if pair.strip() else None)
    limit = min(max_tokens or model.max_tokens, model.max_tokens)
    encoder: Encoder = encoder_for(model, max_tokens=limit)
    encoded = encoder.encode(sequence)
    if not isinstance(encoded, Encoded):
        raise UsageError(f"the text does not fit: the model takes {limit} tokens")
    return _with_words(encoded)


def _with_words(encoded: Encoded) -> Encoded:
    sequence = encoded.sequence
    words = words_in(sequence.text)
    if sequence.pair is not None:
        words += words_in(sequence.pair, 1)
    known = replace(sequence, words=tuple(words))
    target = encoded.target
    return replace(
        encoded,
        sequence=known,
        words=_words_of(encoded, words),
        target=None
        if target is None
        else replace(target, sequence=known, words=_words_of(target, words)),
    )


def _words_of(encoded: Encoded, words: list[Word]) -> NDArray[np.int32]:
    """The word that holds a token's first visible character; -1 where none does."""
    starts = [(w.segment, w.start) for w in words]
    found = np.full(encoded.n_tokens, -1, np.int32)
    for i, (segment, (start, end)) in enumerate(
        zip(encoded.segments.tolist(), encoded.offsets.tolist(), strict=True)
    ):
        if segment < 0 or end <= start:
            continue
        piece = encoded.sequence.segment_text(segment)[start:end]
        first = start + len(piece) - len(piece.lstrip())
        at = bisect_right(starts, (segment, first)) - 1
        if at >= 0 and words[at].segment == segment and first < words[at].end:
            found[i] = at
    return found


def described(encoded: Encoded, tokenizer: Any) -> dict[str, Any]:
    """The tokens for the page: text, whether special, segment, and the number of their word.

    Tokens outside any word are words of their own. Text is what was typed, with invisible
    characters named; a special token goes by the tokenizer's name for it.
    """
    names = tokenizer.convert_ids_to_tokens(encoded.input_ids.tolist())
    shown, units = [], []
    latest: dict[int, int] = {}
    n_units = 0
    for i, segment in enumerate(encoded.segments.tolist()):
        start, end = encoded.offsets[i].tolist()
        text = encoded.sequence.segment_text(segment)[start:end].strip() if segment >= 0 else ""
        shown.append(plain_text(text or str(names[i]), _LONGEST_TOKEN))
        word = int(encoded.words[i])
        if word >= 0 and word in latest:
            units.append(latest[word])
        else:
            latest[word] = n_units
            units.append(n_units)
            n_units += 1
    return {
        "tokens": shown,
        "special": [int(s < 0) for s in encoded.segments.tolist()],
        "segments": encoded.segments.tolist(),
        "units": units,
        "n_cut": encoded.n_cut,
    }
