"""Sentence vectors: the right token of the right head, whatever the padding; the cache."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from headscope.corpora import Encoder
from headscope.engine.vectors import fill_cache, open_cache, vector_layout
from headscope.errors import RunError
from headscope.models import Batch, LoadedModel, Tokens, collate, load
from headscope.models.sentence_token import default_pooling, pooled
from headscope.probes.head_vectors import VectorLayout, sentence_vectors
from headscope.probes.vector_cache import VectorCache, text_key
from headscope.types import Encoded, HeadId, Sequence
from tests.planted import (
    encode_planted,
    encode_planted_causal,
    expected_pattern,
    planted_causal,
)

TEXTS = (
    "the cat sat on the mat .",
    "he ran .",
    "a big old dog saw the small red bird , and it ate",
)


def left_padded(encoded: list[Encoded], pad_id: int, *, positions: bool) -> Batch:
    """The same batch with its padding at the left, and positions from the text's start on."""
    right = collate(encoded, pad_id=pad_id)
    width = right.source.ids.shape[1]

    def moved(table: torch.Tensor) -> torch.Tensor:
        shifted = [row.roll(width - one.n_tokens) for row, one in zip(table, encoded, strict=True)]
        return torch.stack(shifted)

    source = right.source
    tokens = Tokens(
        *(moved(t) for t in (source.ids, source.real, source.kinds, source.segments, source.words))
    )
    inputs = {name: moved(table) for name, table in right.inputs.items()}
    if positions:
        inputs["position_ids"] = (tokens.real.long().cumsum(dim=1) - 1).clamp(min=0)
    return Batch(tuple(encoded), tokens, None, inputs)


def test_pooling_finds_tokens_by_what_is_real() -> None:
    values = torch.arange(24.0).reshape(2, 3, 4, 1)  # batch, head, token, d
    real = torch.tensor([[True, True, True, False], [False, False, True, True]])
    assert pooled(values, real, "first")[..., 0].tolist() == [[0, 4, 8], [14, 18, 22]]
    assert pooled(values, real, "last")[..., 0].tolist() == [[2, 6, 10], [15, 19, 23]]
    assert pooled(values, real, "mean")[..., 0].tolist() == [[1, 5, 9], [14.5, 18.5, 22.5]]


def test_a_bert_is_read_at_its_first_token(planted_bert: LoadedModel) -> None:
    """z of the planted heads is known: the weights by token id and by position."""
    assert default_pooling(planted_bert) == "first"
    encoded = [encode_planted(text) for text in TEXTS]
    rows, layout = sentence_vectors(planted_bert, collate(encoded), "first")
    assert layout.width == rows.shape[1] == 2 * 8 * 80 + 2 * 640
    for b, one in enumerate(encoded):
        pattern = expected_pattern(one)
        for head in layout.heads:
            z = rows[b, layout.head(head)].numpy()
            np.testing.assert_allclose(z[40 : 40 + one.n_tokens], pattern[head.head, 0], atol=1e-5)


def test_hidden_states_are_the_layers_own(planted_bert: LoadedModel) -> None:
    encoded = [encode_planted(text) for text in TEXTS]
    batch = collate(encoded)
    rows, layout = sentence_vectors(planted_bert, batch, "first")
    with torch.inference_mode():
        states = planted_bert.model(**batch.inputs, output_hidden_states=True).hidden_states
    for layer in range(2):
        expected = states[layer + 1][:, 0]
        torch.testing.assert_close(rows[:, layout.layer(layer)], expected, atol=1e-5, rtol=1e-5)


def test_a_causal_model_is_read_at_its_last_real_token_under_either_padding() -> None:
    model = planted_causal()
    assert default_pooling(model) == "last"
    encoded = [encode_planted_causal(text) for text in TEXTS]
    right, layout = sentence_vectors(model, collate(encoded, pad_id=0), "last")
    left, _ = sentence_vectors(model, left_padded(encoded, 0, positions=True), "last")
    torch.testing.assert_close(left, right, atol=1e-4, rtol=1e-4)
    for b, one in enumerate(encoded):  # head 1 looks at the token before: at its place
        z = right[b, layout.head(HeadId(0, 1))].numpy()
        assert z[40 + one.n_tokens - 2] == pytest.approx(1.0, abs=1e-4)


def test_a_real_causal_model_under_either_padding(real_models: Path) -> None:
    """Rotary positions are relative, so that left padding moves nothing."""
    model = load(real_models / "stories260K-llama")
    encoder = Encoder(model.tokenizer, 64)
    encoded = [encoder.encode(Sequence(text, text)) for text in TEXTS]
    whole = [one for one in encoded if isinstance(one, Encoded)]
    alone = torch.cat([sentence_vectors(model, collate([one]), "last")[0] for one in whole])
    right, layout = sentence_vectors(model, collate(whole, pad_id=model.pad_id), "last")
    left, _ = sentence_vectors(model, left_padded(whole, model.pad_id, positions=True), "last")
    assert layout.head_widths == ((8,) * 8,) * 5
    torch.testing.assert_close(right, alone, atol=2e-3, rtol=2e-3)
    torch.testing.assert_close(left, alone, atol=2e-3, rtol=2e-3)


# --- the cache --------------------------------------------------------------------------------

LAYOUT = VectorLayout("self", ((2,),), (3,))


def rows(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, 5)).astype(np.float32)


def keys(*texts: str) -> list[bytes]:
    return [text_key(text) for text in texts]


def test_a_cache_grows_and_comes_back(tmp_path: Path) -> None:
    table = rows(3)
    with VectorCache.open(tmp_path / "c", LAYOUT, {"model": "m"}) as cache:
        cache.append(keys("a", "b"), table[:2])
    with VectorCache.open(tmp_path / "c", LAYOUT, {"model": "m"}) as cache:
        assert len(cache) == 2
        assert text_key("b") in cache
        cache.append(keys("c"), table[2:])
        found = cache.rows()[cache.index(keys("c", "a"))]
        np.testing.assert_allclose(found, table[[2, 0]], rtol=1e-3)


def test_what_a_killed_process_left_is_cut_off(tmp_path: Path) -> None:
    with VectorCache.open(tmp_path / "c", LAYOUT, {"model": "m"}) as cache:
        cache.append(keys("a", "b"), rows(2))
    with (tmp_path / "c" / "rows.f16").open("ab") as file:
        file.write(b"\0" * 13)  # a row and a half without a key
    with (tmp_path / "c" / "keys.b24").open("r+b") as file:
        file.truncate(24 + 5)  # and half of a key lost
    with VectorCache.open(tmp_path / "c", LAYOUT, {"model": "m"}) as cache:
        assert len(cache) == 1
        assert text_key("b") not in cache
        cache.append(keys("b"), rows(2)[1:])
        np.testing.assert_allclose(cache.rows(), rows(2), rtol=1e-3)


@pytest.mark.parametrize("name", ["rows.f16", "keys.b24"])
def test_a_row_that_was_damaged_is_computed_again(tmp_path: Path, name: str) -> None:
    with VectorCache.open(tmp_path / "c", LAYOUT, {"model": "m"}) as cache:
        cache.append(keys("a", "b", "c"), rows(3))
    file = tmp_path / "c" / name
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1  # in the middle: the second row, or its key
    file.write_bytes(content)
    with VectorCache.open(tmp_path / "c", LAYOUT, {"model": "m"}) as cache:
        assert [text_key(text) in cache for text in "abc"] == [True, False, True]
        cache.append(keys("b"), rows(3)[1:2])
        found = cache.rows()[cache.index(keys("a", "b", "c"))]
        np.testing.assert_allclose(found, rows(3), rtol=1e-3)


def test_numbers_too_large_for_float16_are_cut_and_counted(tmp_path: Path) -> None:
    table = rows(1)
    table[0, 2] = -1e6
    with VectorCache.open(tmp_path / "c", LAYOUT, {}) as cache:
        assert cache.append(keys("a"), table) == 1
        assert np.isfinite(cache.rows()).all()


def test_a_cache_of_another_model_is_refused(tmp_path: Path) -> None:
    VectorCache.open(tmp_path / "c", LAYOUT, {"model": "m", "token": "first"}).close()
    with pytest.raises(RunError, match=r"another kind\n  model: m there, other asked for\nChoose"):
        VectorCache.open(tmp_path / "c", LAYOUT, {"model": "other", "token": "first"})
    (tmp_path / "c" / "cache.json").write_text("{", encoding="utf-8")
    with pytest.raises(RunError, match="damaged"):
        VectorCache.open(tmp_path / "c", LAYOUT, {"model": "m", "token": "first"})


def test_a_folder_with_other_things_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(RunError, match=r"not empty and holds no sentence vectors \(it has thesis"):
        VectorCache.open(tmp_path, LAYOUT, {})
    with pytest.raises(RunError, match="is a file"):
        VectorCache.open(tmp_path / "thesis.txt", LAYOUT, {})


def test_only_one_process_may_fill_a_cache(tmp_path: Path) -> None:
    with (
        VectorCache.open(tmp_path / "c", LAYOUT, {}),
        pytest.raises(RunError, match="is being written"),
    ):
        VectorCache.open(tmp_path / "c", LAYOUT, {})


def test_texts_are_computed_once(tmp_path: Path, planted_bert: LoadedModel) -> None:
    encoder = Encoder(planted_bert.tokenizer, 40)
    first = [Sequence("1", TEXTS[0]), Sequence("2", TEXTS[1]), Sequence("3", TEXTS[0])]
    with open_cache(planted_bert, tmp_path / "c", "first", encoder) as cache:
        counts = fill_cache(planted_bert, first, cache, "first", encoder)
        assert (counts["n_sequences"], counts["n_new"], len(cache)) == (2, 2, 2)
        again = [*first, Sequence("4", TEXTS[1], TEXTS[0])]  # a pair is another text
        counts = fill_cache(planted_bert, again, cache, "first", encoder)
        assert (counts["n_sequences"], counts["n_new"], len(cache)) == (3, 1, 3)
        encoded = encode_planted(TEXTS[1], TEXTS[0])
        expected, _ = sentence_vectors(planted_bert, collate([encoded]), "first")
        found = cache.rows()[cache.index([text_key(TEXTS[1], TEXTS[0])])]
        np.testing.assert_allclose(found, expected, atol=2e-3)


def test_layout_of_a_model_is_known_before_any_text(planted_bert: LoadedModel) -> None:
    layout = vector_layout(planted_bert, "first")
    assert layout.head_widths == ((80,) * 8,) * 2
    assert layout.layer_widths == (640, 640)
    assert [str(h) for h in layout.heads[:2]] == ["1-1", "1-2"]
