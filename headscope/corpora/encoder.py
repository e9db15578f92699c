"""Sequences as one tokenizer sees them: tokens, kinds, segments, words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Sequence as SequenceABC
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Literal

import numpy as np

from headscope.corpora.alignment import align
from headscope.corpora.cutting import fitting, keep, pair_budgets, renumber, restrict
from headscope.corpora.decoder_side import shifted
from headscope.corpora.tokens import FastTokenizer, Texts
from headscope.errors import InputError, UsageError
from headscope.types import Encoded, Sequence, TokenKind, Word

_BATCH = 512


@dataclass(frozen=True, slots=True)
class TooLong:
    """A sequence left out because it has more tokens than the model takes."""

    id: str
    n_tokens: int
    max_tokens: int


@dataclass(frozen=True, slots=True)
class Dropped:
    """A sequence left out because the tokenizer has no token for one of its words."""

    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class _View:
    """The part of a sequence that one side of the model reads."""

    texts: Texts
    words: SequenceABC[Word]
    first_word: int = 0
    first_segment: int = 0


class Encoder:
    """Encodes sequences for one model.

    `max_tokens` counts special tokens. A longer sequence is left out (`long="skip"`) or cut
    (`"cut"`): at the last sentence end that fits, else at the last word end that fits, else (no
    words) at a token; of a pair B is cut first, down to a quarter of the room, then A. If not even
    the first word fits it is left out. `Encoded.sequence` is then the shorter sequence.

    A gold word without any token is an `InputError` (`dropped="refuse"`), or its sequence is left
    out (`"skip"`).

    `decoder=True` is for encoder–decoder models: the source is segment A, the target segment B (or
    the same text again), its tokens shifted right behind `decoder_start_token_id`. `max_tokens`
    holds for each side.
    """

    def __init__(
        self,
        tokenizer: Any,
        max_tokens: int,
        *,
        long: Literal["cut", "skip"] = "cut",
        dropped: Literal["refuse", "skip"] = "refuse",
        decoder: bool = False,
        decoder_start_token_id: int | None = None,
    ) -> None:
        if long not in ("cut", "skip") or dropped not in ("refuse", "skip"):
            raise UsageError(f"long={long!r}, dropped={dropped!r}; expected cut|skip, refuse|skip")
        if max_tokens < 1:
            raise UsageError(f"max_tokens is {max_tokens}; expected 1 or more")
        if decoder and decoder_start_token_id is None:
            raise UsageError("an encoder–decoder model needs decoder_start_token_id")
        self._tokenize = FastTokenizer(tokenizer)
        self.max_tokens, self.long, self.dropped = max_tokens, long, dropped
        self._start = decoder_start_token_id if decoder else None
        self._cls: int | None = tokenizer.cls_token_id
        self._sep: int | None = tokenizer.sep_token_id
        self._eos: int | None = tokenizer.eos_token_id

    def encode(self, sequence: Sequence) -> Encoded | TooLong | Dropped:
        """One sequence."""
        return next(self.encode_many([sequence]))

    def encode_many(self, sequences: Iterable[Sequence]) -> Iterator[Encoded | TooLong | Dropped]:
        """Many sequences, in order, tokenized in batches: much faster than one by one."""
        stream = iter(sequences)
        while batch := list(islice(stream, _BATCH)):
            if self._start is None:
                for encoded in self._side(batch, [_whole(s) for s in batch]):
                    yield self._fit(encoded) if isinstance(encoded, Encoded) else encoded
                continue
            sources = self._side(batch, [_source(s) for s in batch])
            targets = self._side(batch, [_target(s) for s in batch])
            for source, target in zip(sources, targets, strict=True):
                if not isinstance(source, Encoded):
                    yield source
                elif not isinstance(target, Encoded):
                    yield target
                else:
                    yield self._fit_both(source, shifted(target, self._start))

    def _side(self, batch: list[Sequence], views: list[_View]) -> Iterator[Encoded | Dropped]:
        """Everything but the length: one tokenizer call and flat arrays for the whole batch."""
        texts = [view.texts for view in views]
        tokens = self._tokenize(texts)
        aligned = align(tokens, texts, [view.words for view in views])
        kinds = aligned.kinds
        if self._sep is not None:
            kinds[tokens.special & (tokens.ids == self._sep)] = TokenKind.SEP
        elif self._eos is not None:
            # T5 ends a segment with </s>; at the very start it would be a mere beginning (OPT).
            ends = tokens.special & (tokens.ids == self._eos)
            ends[tokens.bounds[:-1][np.diff(tokens.bounds) > 0]] = False
            kinds[ends] = TokenKind.SEP
        if self._cls is not None:
            kinds[tokens.special & (tokens.ids == self._cls)] = TokenKind.CLS
        offsets = np.stack((aligned.starts, aligned.ends), axis=1).astype(np.int32)
        n_text = np.add.reduceat(~tokens.special, tokens.bounds[:-1]) if len(tokens.ids) else None
        bare = {text: (word, shared) for text, word, shared in aligned.bare}
        for k, (sequence, view) in enumerate(zip(batch, views, strict=True)):
            a, b = int(tokens.bounds[k]), int(tokens.bounds[k + 1])
            if k in bare:
                yield self._drop(sequence, view, *bare[k])
                continue
            if a == b or n_text is None or n_text[k] == 0:
                yield self._refuse(sequence, "a text without any token", "text the tokenizer knows")
                continue
            words, segments = aligned.words[a:b], tokens.segments[a:b]
            if view.first_word:
                words = np.where(words < 0, words, words + np.int32(view.first_word))
            if view.first_segment:
                segments = np.where(segments < 0, segments, segments + np.int8(1))
            yield Encoded(
                sequence=sequence,
                input_ids=tokens.ids[a:b],
                kinds=kinds[a:b],
                segments=segments,
                words=words,
                offsets=offsets[a:b],
                model_inputs={} if tokens.types is None else {"token_type_ids": tokens.types[a:b]},
            )

    def _drop(self, sequence: Sequence, view: _View, word: int, shared: bool) -> Dropped:
        at = view.words[word]
        form = view.texts[at.segment][at.start : at.end]
        found = f"word {view.first_word + word + 1}, {form!r}, without a token of its own"
        if shared:
            expected = "words that share no token with the word before (spacing=single)"
        else:
            expected = "a word this tokenizer does not drop"
        return self._refuse(sequence, found, expected)

    def _refuse(self, sequence: Sequence, found: str, expected: str) -> Dropped:
        if self.dropped == "refuse":
            raise InputError(
                sequence.source or sequence.id,
                found=f"{found} (sequence {sequence.id!r})",
                expected=expected,
                line=sequence.line or None,
            )
        return Dropped(sequence.id, found)

    def _fit(self, encoded: Encoded) -> Encoded | TooLong:
        n_tokens = encoded.n_tokens
        if n_tokens <= self.max_tokens:
            return encoded
        too_long = TooLong(encoded.sequence.id, n_tokens, self.max_tokens)
        if self.long == "skip":
            return too_long
        sizes = {s: int((encoded.segments == s).sum()) for s in (0, 1)}
        budget = self.max_tokens - (n_tokens - sum(sizes.values()))
        if encoded.sequence.pair is None:
            sizes, budgets = {0: sizes[0]}, (budget, 0)
        else:
            budgets = pair_budgets(sizes[0], sizes[1], budget)
        first = fitting(encoded, 0, budgets[0])
        if first is None or budget < 1:
            return too_long
        kept = {0: first}
        if 1 in sizes:
            # What A did not use, because it was cut at a sentence's end, is B's.
            second = fitting(encoded, 1, budget - first)
            if not second:
                return too_long
            kept[1] = second
        mask = keep(encoded, kept)
        return renumber(encoded, mask, restrict(encoded.sequence, _ends(encoded, kept)))

    def _fit_both(self, source: Encoded, target: Encoded) -> Encoded | TooLong:
        longest = max(source.n_tokens, target.n_tokens)
        if longest <= self.max_tokens:
            return replace(source, target=target)
        sequence = source.sequence
        too_long = TooLong(sequence.id, longest, self.max_tokens)
        if self.long == "skip":
            return too_long
        other = 0 if sequence.pair is None else 1
        first = fitting(source, 0, self.max_tokens - int((source.segments < 0).sum()))
        second = fitting(target, other, self.max_tokens - int((target.segments < 0).sum()))
        if not first or not second:
            return too_long
        if other == 0:
            # The same text on both sides: the shorter cut holds for both.
            first = second = min(first, second)
        ends = {**_ends(source, {0: first}), **_ends(target, {other: second})}
        shorter = restrict(sequence, ends)
        return replace(
            renumber(source, keep(source, {0: first}), shorter),
            target=renumber(target, keep(target, {other: second}), shorter),
        )


def _ends(encoded: Encoded, kept: dict[int, int]) -> dict[int, int]:
    """Where each cut segment's text ends now: behind its last token, and behind its last word.

    The two differ where the tokenizer drops a word's last characters (a zero-width space).
    """
    ends: dict[int, int] = {}
    for segment, n_kept in kept.items():
        inside = np.flatnonzero(encoded.segments == segment)
        if n_kept < len(inside):
            left = inside[:n_kept]
            ends[segment] = int(encoded.offsets[left, 1].max())
            last = int(encoded.words[left].max())
            if encoded.sequence.words is not None and last >= 0:
                ends[segment] = max(ends[segment], encoded.sequence.words[last].end)
    return ends


def _whole(sequence: Sequence) -> _View:
    texts: Texts = (sequence.text,) if sequence.pair is None else (sequence.text, sequence.pair)
    return _View(texts, sequence.words or ())


def _source(sequence: Sequence) -> _View:
    return _View((sequence.text,), [word for word in sequence.words or () if word.segment == 0])


def _target(sequence: Sequence) -> _View:
    if sequence.pair is None:
        return _source(sequence)
    words = sequence.words or ()
    second = [Word(0, word.start, word.end) for word in words if word.segment == 1]
    return _View((sequence.pair,), second, len(words) - len(second), 1)
