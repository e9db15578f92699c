"""Tokens, kinds, segments and words, against the tokenizers' own answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from headscope.corpora import Corpus, Dropped, Encoder, TooLong
from headscope.corpora.checks import check_annotations
from headscope.errors import InputError, ModelError, UsageError
from headscope.types import Dependencies, Encoded, Frame, Mention, Sequence, TokenKind, Word

CLS, SEP, PERIOD, COMMA, OTHER = (
    TokenKind.CLS,
    TokenKind.SEP,
    TokenKind.PERIOD,
    TokenKind.COMMA,
    TokenKind.OTHER,
)


def with_words(text: str, pair: str | None = None, **more: Any) -> Sequence:
    words = []
    for segment, part in enumerate((text, pair)):
        at = 0
        for form in (part or "").split(" "):
            if form:
                words.append(Word(segment, at, at + len(form)))
            at += len(form) + 1
    return Sequence("s", text, pair=pair, words=tuple(words), source="f.txt", line=7, **more)


def encoded(tokenizer: Any, sequence: Sequence, max_tokens: int = 999, **more: Any) -> Encoded:
    result = Encoder(tokenizer, max_tokens, **more).encode(sequence)
    assert isinstance(result, Encoded)
    return result


def token_texts(result: Encoded) -> list[str]:
    texts = []
    for segment, (start, end) in zip(result.segments, result.offsets, strict=True):
        texts.append(result.sequence.segment_text(segment)[start:end] if segment >= 0 else "*")
    return texts


def test_bert_pair(minilm: Any) -> None:
    result = encoded(minilm, with_words("unbelievable , yes .", "No ."))
    texts = token_texts(result)
    assert texts[0] == "*"
    assert "".join(texts) == "*unbelievable,yes.*No.*"
    assert result.kinds.tolist()[-7:] == [COMMA, OTHER, PERIOD, SEP, OTHER, PERIOD, SEP]
    assert result.kinds[0] == CLS
    n = texts.index(",")
    assert result.words.tolist() == [-1, *[0] * (n - 1), 1, 2, 3, -1, 4, 5, -1]
    assert result.segments.tolist() == [-1, *[0] * (n + 2), -1, 1, 1, -1]
    types = result.model_inputs["token_type_ids"].tolist()
    assert types == minilm("unbelievable , yes .", "No .")["token_type_ids"]


def test_same_ids_as_the_tokenizer_itself(tokenizer: Any) -> None:
    texts = ["the cat , .", "  two  spaces ", "naïve 😀 x", "a\tb\nc"]
    sequences = [*(Sequence("", t) for t in texts), Sequence("", "the A", pair="the B")]
    results = list(Encoder(tokenizer, 999).encode_many(sequences))
    for text, result in zip([*texts, None], results, strict=True):
        assert isinstance(result, Encoded)
        own = tokenizer("the A", "the B") if text is None else tokenizer(text)
        assert result.input_ids.tolist() == own["input_ids"]
        assert result.words.tolist() == [-1] * result.n_tokens
        assert ("token_type_ids" in result.model_inputs) == ("token_type_ids" in own)


def test_roberta_kinds_and_doubled_sep(roberta: Any) -> None:
    result = encoded(roberta, with_words("the .", "a"))
    assert result.kinds.tolist() == [CLS, OTHER, OTHER, PERIOD, SEP, SEP, OTHER, SEP]
    # "Ġ." are two tokens here; the space alone belongs to no word.
    assert result.words.tolist() == [-1, 0, -1, 1, -1, -1, 2, -1]
    assert result.segments.tolist() == [-1, 0, 0, 0, -1, -1, 1, -1]


def test_offsets_with_a_leading_space_are_trimmed(roberta: Any) -> None:
    result = encoded(roberta, with_words("x the"))
    assert roberta("x the", return_offsets_mapping=True)["offset_mapping"][2] == (1, 5)
    assert result.offsets.tolist()[2] == [2, 5]
    assert result.words.tolist() == [-1, 0, 1, -1]


def test_gpt_has_no_delimiters(gpt2: Any) -> None:
    result = encoded(gpt2, with_words("a , b"))
    assert result.kinds.tolist() == [OTHER, OTHER, COMMA, OTHER, OTHER]
    assert result.words.tolist() == [0, -1, 1, -1, 2]


def test_characters_of_several_bytes(gpt2: Any) -> None:
    result = encoded(gpt2, with_words("é 😀"))
    assert result.words.tolist() == [0, 0, -1, 1, 1, 1, 1]


def test_t5_end_is_a_sep(t5: Any) -> None:
    result = encoded(t5, with_words("the , x"))
    assert result.kinds.tolist() == [OTHER, OTHER, COMMA, OTHER, OTHER, SEP]
    assert result.words.tolist() == [0, -1, 1, -1, 2, -1]


def test_llama_beginning_is_no_cls(real_models: Any) -> None:
    transformers = pytest.importorskip("transformers")
    llama = transformers.AutoTokenizer.from_pretrained(real_models / "stories260K-llama")
    result = encoded(llama, with_words("Once , upon 😀 .", "Yes ."))
    assert (result.kinds[0], result.words[0], result.segments[0]) == (OTHER, -1, -1)
    assert {CLS, SEP}.isdisjoint(result.kinds.tolist())
    assert set(result.words.tolist()) == set(range(-1, 7))
    assert [k for k in result.kinds.tolist() if k] == [COMMA, PERIOD, PERIOD]


def test_a_delimiter_spelled_out_is_text(minilm: Any) -> None:
    result = encoded(minilm, with_words("a [SEP] b"))
    assert result.kinds.tolist() == [CLS, OTHER, OTHER, OTHER, SEP]
    assert result.words.tolist() == [-1, 0, 1, 2, -1]


def test_dropped_words(minilm: Any) -> None:
    sequence = with_words("good \u200b\x00 word")
    with pytest.raises(InputError) as caught:
        Encoder(minilm, 99).encode(sequence)
    assert caught.value.path == "f.txt"
    assert caught.value.line == 7
    assert r"word 2, '\u200b\x00'" in str(caught.value)
    assert isinstance(Encoder(minilm, 99, dropped="skip").encode(sequence), Dropped)


def test_text_without_tokens(minilm: Any) -> None:
    (sequence,) = Corpus.of(["\u200b"])
    with pytest.raises(InputError, match="without any token"):
        Encoder(minilm, 99).encode(sequence)


def test_words_that_share_a_token(minilm: Any) -> None:
    sequence = Sequence("s", "cannot", words=(Word(0, 0, 3), Word(0, 3, 6)))
    with pytest.raises(InputError, match="share no token"):
        Encoder(minilm, 99).encode(sequence)


def test_slow_tokenizers_are_refused() -> None:
    class Slow:
        is_fast = False

    with pytest.raises(ModelError, match="Slow is a slow tokenizer"):
        Encoder(Slow(), 99)


def test_usage(minilm: Any) -> None:
    with pytest.raises(UsageError, match="max_tokens"):
        Encoder(minilm, 0)
    with pytest.raises(UsageError, match="decoder_start_token_id"):
        Encoder(minilm, 9, decoder=True)


def test_the_users_tokenizer_is_left_alone(minilm: Any) -> None:
    before = minilm.backend_tokenizer.truncation, minilm.backend_tokenizer.padding
    encoded(minilm, Sequence("", "word " * 300))
    assert (minilm.backend_tokenizer.truncation, minilm.backend_tokenizer.padding) == before


THREE = with_words(
    "a b c d e f",
    sentences=(0, 2, 4),
    pos=("A", "B", "C", "D", "E", "F"),
    dependencies=Dependencies((-1, 0, 3, -1, 5, -1), ("root", "x", "x", "root", "x", "root")),
    mentions=(Mention("1", 0, 2, 1), Mention("2", 3, 5, 3), Mention("3", 5, 6)),
    frames=(Frame("F", (0, 1), (("E", 1, 2),)), Frame("G", (1, 2), (("E", 4, 6),))),
)


def test_cut_at_the_last_sentence_that_fits(minilm: Any) -> None:
    # Six words and two delimiters; seven tokens leave room for five words, that is two sentences.
    result = encoded(minilm, THREE, 7)
    shorter = result.sequence
    assert (shorter.text, shorter.sentences, result.n_cut) == ("a b c d", (0, 2), 2)
    assert shorter.mentions == (Mention("1", 0, 2, 1),)
    assert shorter.frames == (Frame("F", (0, 1), (("E", 1, 2),)),)
    assert result.kinds.tolist() == [CLS, OTHER, OTHER, OTHER, OTHER, SEP]
    check_annotations(shorter)


def test_cut_at_a_word_marks_lost_heads(minilm: Any) -> None:
    one = with_words("a b zxcvqw", dependencies=Dependencies((2, 0, -1), ("x", "y", "root")))
    result = encoded(minilm, one, 5)
    assert result.sequence.text == "a b"
    assert result.sequence.dependencies == Dependencies((-2, 0), ("x", "y"))
    assert token_texts(result) == ["*", "a", "b", "*"]


def test_cut_at_a_token_without_words(minilm: Any) -> None:
    result = encoded(minilm, Sequence("s", "one two three four"), 4)
    assert (result.sequence.text, result.n_cut, result.n_tokens) == ("one two", 2, 4)


def test_skip_and_what_cannot_be_cut(minilm: Any) -> None:
    assert Encoder(minilm, 7, long="skip").encode(THREE) == TooLong("s", 8, 7)
    giant = with_words("x" * 90 + " y")
    assert isinstance(Encoder(minilm, 5).encode(giant), TooLong)
    assert isinstance(Encoder(minilm, 2).encode(THREE), TooLong)
    assert isinstance(Encoder(minilm, 3).encode(with_words("a", "b")), TooLong)


def test_pairs_lose_b_first(minilm: Any) -> None:
    pair = with_words("a b c d", "e f g h", mentions=(Mention("1", 3, 4), Mention("1", 4, 5)))
    result = encoded(minilm, pair, 9)
    assert (result.sequence.text, result.sequence.pair) == ("a b c d", "e f")
    tight = encoded(minilm, pair, 7)
    assert (tight.sequence.text, tight.sequence.pair) == ("a b c", "e")
    assert tight.sequence.mentions == (Mention("1", 3, 4),)
    assert tight.words.tolist() == [-1, 0, 1, 2, -1, 3, -1]
    assert tight.segments.tolist() == [-1, 0, 0, 0, -1, 1, -1]
    assert tight.model_inputs["token_type_ids"].tolist() == [0, 0, 0, 0, 0, 1, 1]


def test_decoder_target_is_b_shifted_right(t5: Any) -> None:
    result = encoded(t5, with_words("the x", "the y"), decoder=True, decoder_start_token_id=0)
    assert result.target is not None
    assert result.input_ids.tolist() == t5("the x")["input_ids"]
    assert result.target.input_ids.tolist() == [0, *t5("the y")["input_ids"][:-1]]
    assert result.words.tolist() == [0, -1, 1, -1]
    assert result.target.words.tolist() == [-1, 2, -1, 3]
    assert result.target.segments.tolist() == [-1, 1, 1, 1]
    assert result.target.kinds.tolist() == [OTHER] * 4
    assert token_texts(result.target) == ["*", "the", " ", "y"]


def test_decoder_without_b_reads_the_same_text(roberta: Any) -> None:
    result = encoded(roberta, with_words("the x"), decoder=True, decoder_start_token_id=1)
    assert result.target is not None
    assert result.target.input_ids.tolist() == [1, *roberta("the x")["input_ids"][:-1]]
    assert result.target.kinds.tolist()[:2] == [OTHER, CLS]
    assert result.target.words.tolist() == [-1, -1, 0, -1, 1]


def test_decoder_sides_are_cut_alike(gpt2: Any, t5: Any) -> None:
    # No end mark: the target has one token more than the source, so it decides.
    result = encoded(gpt2, with_words("ab cd"), 4, decoder=True, decoder_start_token_id=9)
    assert result.target is not None
    assert result.sequence.text == "ab"
    assert result.n_tokens == 2
    assert result.target.n_tokens == 3
    pair = with_words("the the the the", "the x the")
    result = encoded(t5, pair, 3, decoder=True, decoder_start_token_id=0)
    assert (result.sequence.text, result.sequence.pair) == ("the the", "the")
    assert result.target is not None
    assert result.target.words.tolist() == [-1, 2]
    assert result.target.sequence is result.sequence


def test_many_equal_one_by_one(tokenizer: Any) -> None:
    sequences = [with_words("the a , b"), with_words("c .", "the the"), Sequence("p", "d e")]
    encoder = Encoder(tokenizer, 6)
    for together, sequence in zip(encoder.encode_many(sequences), sequences, strict=True):
        alone = encoder.encode(sequence)
        assert type(together) is type(alone)
        if isinstance(together, Encoded) and isinstance(alone, Encoded):
            for name in ("input_ids", "kinds", "segments", "words", "offsets"):
                np.testing.assert_array_equal(getattr(together, name), getattr(alone, name))
