"""What holds for any text: it survives reading and encoding, and cutting leaves valid indices."""

from __future__ import annotations

import functools
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headscope.corpora import Corpus, Dropped, Encoder, ReadOptions, TooLong
from headscope.corpora.checks import check_annotations
from headscope.types import Dependencies, Encoded, Frame, Mention, Sequence, Word

fast = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
hostile = st.sampled_from(
    ["\u200b", "\x00", "\u202e", "\ufeff", "é", "e\u0301", "😀", "漢字", "ﬁ", "ß", " ", "\u00a0"]
)
text_strategy = st.lists(st.one_of(hostile, st.text(max_size=6)), min_size=1, max_size=8).map(
    "".join
)
form_strategy = st.one_of(
    st.sampled_from(["the", "cat", ",", ".", "unbelievable", "x\u200b", "\u200b", "é", "😀"]),
    st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S"]), min_size=1, max_size=9),
)


@st.composite
def annotated(draw: st.DrawFn) -> Sequence:
    """A sequence of one or two segments with every kind of annotation, at random."""
    forms = draw(st.lists(form_strategy, min_size=2, max_size=14))
    n_first = draw(st.integers(1, len(forms)))
    words, texts = [], ["", ""]
    for i, form in enumerate(forms):
        segment = 0 if i < n_first else 1
        gap = " " if texts[segment] else ""
        start = len(texts[segment]) + len(gap)
        texts[segment] += gap + form
        words.append(Word(segment, start, start + len(form)))
    n = len(forms)
    starts = sorted({0, *draw(st.sets(st.integers(1, n - 1))), *([n_first] if n_first < n else [])})
    heads = draw(st.lists(st.integers(-1, n - 1), min_size=n, max_size=n))
    span = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).map(
        lambda pair: (min(pair), max(pair) + 1)
    )
    mentions = [Mention("e", a, b, a) for a, b in draw(st.lists(span, max_size=4))]
    frames = [Frame("F", t, (("E", *e),)) for t, e in draw(st.lists(st.tuples(span, span)))]
    return Sequence(
        "s",
        texts[0],
        pair=texts[1] or None,
        words=tuple(words),
        sentences=tuple(starts),
        pos=tuple(forms),
        dependencies=Dependencies(tuple(heads), tuple(forms)),
        mentions=tuple(mentions),
        frames=tuple(frames),
    )


@functools.cache
def encoder(tokenizer: Any, *, decoder: bool = False) -> Encoder:
    """One encoder a tokenizer: making one copies the whole vocabulary."""
    start = 0 if decoder else None
    return Encoder(tokenizer, 9999, dropped="skip", decoder=decoder, decoder_start_token_id=start)


def encode(
    tokenizer: Any, sequence: Sequence, max_tokens: int = 9999, *, decoder: bool = False
) -> Encoded | TooLong | Dropped:
    shared = encoder(tokenizer, decoder=decoder)
    shared.max_tokens = max_tokens
    return shared.encode(sequence)


def check_encoded(result: Encoded) -> None:
    """Every index of an encoding is valid, and agrees with the characters."""
    sequence = result.sequence
    n = result.n_tokens
    for values in (result.kinds, result.segments, result.words, result.offsets):
        assert len(values) == n
    for segment, word, (start, end) in zip(
        result.segments.tolist(), result.words.tolist(), result.offsets.tolist(), strict=True
    ):
        if segment < 0:
            assert word == -1
            continue
        assert 0 <= start <= end <= len(sequence.segment_text(segment))
        if word >= 0:
            assert sequence.words is not None
            gold = sequence.words[word]
            assert gold.segment == segment
            assert gold.start < end
            assert start < gold.end
    if sequence.words is not None:
        assert set(result.words.tolist()) - {-1} == set(range(len(sequence.words)))
        known = result.words[result.words >= 0]
        assert np.all(np.diff(known) >= 0)


@fast
@given(text=text_strategy)
def test_any_text_survives_reading_and_encoding(
    text: str, tokenizer: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path: Path = tmp_path_factory.mktemp("laws") / "t.jsonl"
    path.write_text(json.dumps({"text": text}) + "\n")
    if not text.strip():
        return
    (sequence,) = Corpus(path)
    assert sequence.text == text.strip()
    result = encode(tokenizer, sequence)
    if isinstance(result, Encoded):
        check_encoded(result)
        assert result.input_ids.tolist() == tokenizer(sequence.text, truncation=False)["input_ids"]


@fast
@given(text=st.text(st.characters(codec="utf-8", exclude_characters="\n"), min_size=1))
def test_any_line_survives_reading(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    path: Path = tmp_path_factory.mktemp("laws") / "t.txt"
    path.write_bytes(b"first\n" + text.encode() + b"\nlast\n")
    texts = [sequence.text for sequence in Corpus(path)]
    assert texts == ["first", *([text.strip()] if text.strip() else []), "last"]


@fast
@given(sequence=annotated(), max_tokens=st.integers(1, 40))
def test_cutting_leaves_only_valid_indices(
    sequence: Sequence, max_tokens: int, tokenizer: Any
) -> None:
    check_annotations(sequence)
    whole = encode(tokenizer, sequence)
    result = encode(tokenizer, sequence, max_tokens)
    assert isinstance(whole, Dropped) == isinstance(result, Dropped)
    if not isinstance(result, Encoded) or not isinstance(whole, Encoded):
        return
    check_encoded(whole)
    check_encoded(result)
    check_annotations(result.sequence)
    assert result.n_tokens <= max_tokens
    assert result.n_tokens + result.n_cut == whole.n_tokens
    assert sequence.text.startswith(result.sequence.text)
    assert (sequence.pair or "").startswith(result.sequence.pair or "")
    assert (sequence.pair is None) == (result.sequence.pair is None)
    # `pos` holds the forms here, so it tells whether every annotation kept its word.
    forms = tuple(result.sequence.word_text(i) for i in range(len(result.sequence.words or ())))
    assert result.sequence.pos == forms


@fast
@given(sequence=annotated(), max_tokens=st.integers(2, 40))
def test_cutting_both_sides_of_a_decoder(
    sequence: Sequence, max_tokens: int, tokenizer: Any
) -> None:
    result = encode(tokenizer, sequence, max_tokens, decoder=True)
    if not isinstance(result, Encoded):
        return
    check_annotations(result.sequence)
    assert result.target is not None
    assert result.target.sequence is result.sequence
    assert max(result.n_tokens, result.target.n_tokens) <= max_tokens
    seen = set(result.words.tolist()) | set(result.target.words.tolist())
    assert seen - {-1} == set(range(len(result.sequence.words or ())))


@fast
@given(st.lists(form_strategy, min_size=1, max_size=12))
def test_alignment_round_trip(forms: list[str]) -> None:
    """Gold words written to a file and read back are the words that were written."""
    rows = "\n".join(f"{i}\t{f}" + "\t_" * 8 for i, f in enumerate(forms, 1))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "w.conllu"
        path.write_text(rows + "\n", newline="\n")
        (sequence,) = Corpus(path, options=ReadOptions())
    assert sequence.text == " ".join(forms)
    assert [sequence.word_text(i) for i in range(len(forms))] == forms
