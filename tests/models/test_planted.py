"""The planted heads do what their table says, seen through the tap, in padded batches."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from headscope.models import LoadedModel, Tap, View, collate, load
from headscope.types import Encoded, TokenKind
from tests.planted import (
    CAUSAL_HEADS,
    HEADS,
    N_POSITIONS,
    SEP,
    VOCABULARY,
    encode_planted,
    encode_planted_causal,
    expected_causal_pattern,
    expected_pattern,
    planted,
    planted_causal,
)

_PAIR = ("who sees it ?", "she played on the old mat . the bird ran under the big tree .")


def _views(model: LoadedModel, encoded: list[Encoded]) -> list[View]:
    views: list[View] = []
    batch = collate(encoded, pad_id=model.pad_id)
    with torch.inference_mode(), Tap(model.model, observer=views.append) as tap:
        tap.forward(batch)
    return views


def _texts() -> list[Encoded]:
    return [
        encode_planted("the cat saw the dog , and the dog ran ."),
        encode_planted(*_PAIR),
        encode_planted("ran"),
        encode_planted("the " * (N_POSITIONS - 2)),
        encode_planted("it sat", "it sat"),
    ]


@pytest.fixture(scope="module")
def model() -> LoadedModel:
    return planted()


def test_patterns_are_those_of_the_table(model: LoadedModel) -> None:
    texts = _texts()
    views = _views(model, texts)
    assert [(v.stack, v.layer, v.n_heads) for v in views] == [("self", 0, 8), ("self", 1, 8)]
    for view in views:
        for i, text in enumerate(texts):
            n = text.n_tokens
            got = view.pattern[i, :, :n, :n].numpy()
            np.testing.assert_allclose(got, expected_pattern(text), atol=1e-7, rtol=0)
            assert not view.pattern[i, :, :n, n:].any()


def test_z_repeats_the_pattern_by_position(model: LoadedModel) -> None:
    texts = _texts()
    for view in _views(model, texts):
        for i, text in enumerate(texts):
            n = text.n_tokens
            by_key = view.z[i, :, :n, 40 : 40 + n]
            torch.testing.assert_close(by_key, view.pattern[i, :, :n, :n], atol=1e-6, rtol=0)
            by_id = np.zeros((len(HEADS), n, 40))
            for key, token in enumerate(text.input_ids):
                by_id[:, :, token] += expected_pattern(text)[:, :, key]
            np.testing.assert_allclose(view.z[i, :, :n, :40].numpy(), by_id, atol=1e-6, rtol=0)


def test_expected_pattern_by_hand() -> None:
    """[CLS] it sat [SEP] it ran [SEP], worked out on paper."""
    text = encode_planted("it sat", "it ran")
    pattern = expected_pattern(text)
    row = dict(zip(HEADS, pattern[:, 1], strict=True))  # the first "it"
    assert row["self"].tolist() == [0, 1, 0, 0, 0, 0, 0]
    assert row["previous"].tolist() == [1, 0, 0, 0, 0, 0, 0]
    assert row["next"].tolist() == [0, 0, 1, 0, 0, 0, 0]
    assert row["cls"].tolist() == [1, 0, 0, 0, 0, 0, 0]
    assert row["sep"].tolist() == [0, 0, 0, 1 / 2, 0, 0, 1 / 2]
    assert row["segment"].tolist() == [1 / 4] * 4 + [0] * 3
    assert row["everywhere"].tolist() == [1 / 7] * 7
    assert row["same_word"].tolist() == [0, 0, 0, 0, 1, 0, 0]
    np.testing.assert_allclose(pattern.sum(-1), 1, atol=1e-12)


def test_tokenizer_splits_pairs_and_pieces() -> None:
    text = encode_planted(*_PAIR)
    tokens = [VOCABULARY[i] for i in text.input_ids]
    assert tokens[:9] == ["[CLS]", "who", "sees", "it", "?", "[SEP]", "she", "play", "##ed"]
    assert text.words[:9].tolist() == [-1, 0, 1, 2, 3, -1, 4, 5, 5]
    assert text.segments[:9].tolist() == [-1, 0, 0, 0, 0, -1, 1, 1, 1]
    assert text.model_inputs["token_type_ids"][:9].tolist() == [0] * 6 + [1] * 3
    assert [TokenKind(k) for k in text.kinds[[0, 1, 5, 13]]] == [
        TokenKind.CLS,
        TokenKind.OTHER,
        TokenKind.SEP,
        TokenKind.PERIOD,
    ]
    assert (text.input_ids == SEP).sum() == 2
    assert encode_planted("zebra").input_ids.tolist() == [2, VOCABULARY.index("[UNK]"), 3]


def test_planted_survives_saving(model: LoadedModel, tmp_path: Path) -> None:
    model.model.save_pretrained(tmp_path)
    model.tokenizer.save_pretrained(tmp_path)
    again = load(tmp_path)
    assert again.fingerprint() == model.fingerprint()
    assert again.layout == model.layout
    assert again.max_tokens == N_POSITIONS
    assert again.tokenizer(*_PAIR)["token_type_ids"] == model.tokenizer(*_PAIR)["token_type_ids"]


def test_causal_patterns_are_those_of_the_table() -> None:
    model = planted_causal()
    texts = [
        encode_planted_causal("the cat saw the dog , and the cat cat ran ."),
        encode_planted_causal("who"),
        encode_planted_causal("the bird ran . the bird ran . the bird"),
    ]
    views = _views(model, texts)
    assert [(v.layer, v.causal, v.n_heads) for v in views] == [(0, True, 4), (1, True, 4)]
    for view in views:
        for i, text in enumerate(texts):
            n = text.n_tokens
            got = view.pattern[i, :, :n, :n].numpy()
            expected = expected_causal_pattern(text, view.layer)
            np.testing.assert_allclose(got, expected, atol=1e-7, rtol=0)


def test_expected_induction_by_hand() -> None:
    """<bos> the bird ran . the bird: the last token looks at "ran", the second "the" at "bird"."""
    text = encode_planted_causal("the bird ran . the bird")
    induction = expected_causal_pattern(text, 1)[CAUSAL_HEADS[1].index("induction")]
    assert induction[6].argmax() == 3
    assert induction[5].argmax() == 2
    assert induction[3].argmax() == 0
