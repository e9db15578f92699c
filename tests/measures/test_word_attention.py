"""Word maps against a loop written from the formula."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from headscope.models import Tap, Tokens, View, collate
from headscope.models.word_attention import Rows, word_attention, word_pattern, word_units
from tests.planted import encode_planted, expected_pattern, planted


def naive(pattern: NDArray[np.float64], words: list[int], rows: Rows) -> NDArray[np.float64]:
    """One sequence, one head: loops over units of tokens."""
    units: list[list[int]] = []
    for token, word in enumerate(words):
        for unit in units:
            if word >= 0 and words[unit[0]] == word:
                unit.append(token)
                break
        else:
            units.append([token])
    merged = np.zeros((len(units), len(units)))
    for a, queries in enumerate(units):
        chosen = queries if rows == "mean" else queries[:1]
        for b, keys in enumerate(units):
            merged[a, b] = sum(pattern[q, k] for q in chosen for k in keys) / len(chosen)
    return merged


def tokens_of(words: list[list[int]]) -> Tokens:
    width = max(map(len, words))
    table = torch.full((len(words), width), -1)
    for i, row in enumerate(words):
        table[i, : len(row)] = torch.tensor(row)
    lengths = torch.tensor([len(row) for row in words])
    blank = torch.zeros_like(table)
    return Tokens(blank, torch.arange(width) < lengths[:, None], blank, blank, table)


@pytest.mark.parametrize("rows", ["mean", "first"])
@settings(max_examples=40, deadline=None)
@given(
    words=st.lists(st.lists(st.integers(-1, 4), min_size=1, max_size=9), min_size=1, max_size=4),
    seed=st.integers(0, 1000),
)
def test_agrees_with_a_naive_loop(words: list[list[int]], seed: int, rows: Rows) -> None:
    tokens = tokens_of(words)
    n = tokens.real.shape[1]
    generator = torch.Generator().manual_seed(seed)
    scores = torch.rand(len(words), 3, n, n, generator=generator)
    pattern = scores.masked_fill(~tokens.real[:, None, None, :], -torch.inf).softmax(dim=-1)
    units = word_units(tokens)
    merged = word_attention(pattern, units.row_weights(rows), units.members)
    for i, row in enumerate(words):
        n_units = int(units.real[i].sum())
        for head in range(3):
            one = pattern[i, head, : len(row), : len(row)].double().numpy()
            expected = naive(one, row, rows)
            assert expected.shape == (n_units, n_units)
            np.testing.assert_allclose(merged[i, head, :n_units, :n_units], expected, atol=1e-6)
        np.testing.assert_allclose(merged[i, :, :n_units].sum(-1), 1.0, atol=1e-5)
        assert not merged[i, :, n_units:].any()
        assert not merged[i, :, :, n_units:].any()


def test_units_know_their_words() -> None:
    units = word_units(tokens_of([[-1, 0, 1, 1, -1, 3, -1], [-1, 2, -1]]))
    assert units.words.tolist() == [[-1, 0, 1, -1, 3, -1], [-1, 2, -1, -1, -1, -1]]
    assert units.real.sum(dim=1).tolist() == [6, 3]
    assert units.unit_of_word(4).tolist() == [[1, 2, -1, 4], [-1, -1, 1, -1]]


def test_planted_heads_between_words_and_one_map_per_layer() -> None:
    model = planted()
    encoded = [encode_planted("the dog played."), encode_planted("playing, she saw the big cat.")]
    batch = collate(encoded, pad_id=model.pad_id)
    seen: list[int] = []

    def observer(view: View) -> None:
        merged = word_pattern(view)
        assert word_pattern(view) is merged
        seen.append(view.layer)
        for i, one in enumerate(encoded):
            for head, pattern in enumerate(expected_pattern(one)):
                expected = naive(pattern, one.words.tolist(), "mean")
                n = len(expected)
                np.testing.assert_allclose(merged[i, head, :n, :n], expected, atol=1e-5)

    with torch.inference_mode(), Tap(model.model, observer=observer) as tap:
        tap.forward(batch)
    assert seen == [0, 1]
