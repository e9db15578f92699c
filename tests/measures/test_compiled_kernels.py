"""Compiled loops find what torch's own operations find, with any number of threads."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from headscope.measures.dependency_parser import pointed_words
from headscope.measures.kernels.row_entropy import row_entropies
from headscope.measures.kernels.sparse_sieves import SparseSieves, sieve_scores
from headscope.measures.kernels.strongest import SentenceWords, strongest_words
from headscope.measures.sieve_bias import sieve_bias, sieve_weights
from headscope.models.word_attention import Tokens, word_attention, word_units
from headscope.models.word_maps import merged_maps


def maps(n_batch: int, n_heads: int, n_tokens: int, sharpness: float = 3.0) -> torch.Tensor:
    torch.manual_seed(n_tokens)
    return (sharpness * torch.randn(n_batch, n_heads, n_tokens, n_tokens)).softmax(dim=-1)


@pytest.mark.parametrize("n_tokens", [1, 2, 7, 33, 130])
@pytest.mark.parametrize("sharpness", [0.1, 3.0, 60.0])
def test_entropy(n_tokens: int, sharpness: float) -> None:
    pattern = maps(2, 3, n_tokens, sharpness)
    pattern[0, 0, 0] = 0.0
    pattern[0, 0, 0, 0] = 1.0
    exact = torch.special.entr(pattern.double()).sum(dim=-1).numpy()
    found = row_entropies(pattern.numpy(), 1)
    np.testing.assert_allclose(found, exact, atol=3e-6)
    assert found[0, 0, 0] == 0.0
    assert not np.signbit(found).any()
    np.testing.assert_array_equal(found, row_entropies(pattern.numpy(), 3))


@pytest.mark.parametrize("rows", ["mean", "first"])
def test_words(rows: str) -> None:
    words = torch.tensor(
        [[-1, 0, 0, 1, 2, 2, 2, -1], [-1, 0, 1, 1, -1, -1, -1, -1], [3, 1, 3, -1, 0, 1, 2, 2]]
    )
    real = torch.ones_like(words, dtype=torch.bool)
    real[1, 5:] = False
    blank = torch.zeros_like(words)
    units = word_units(Tokens(blank, real, blank, blank, words))
    pattern = maps(3, 2, 8) * real[:, None, None, :]
    weights = units.row_weights(rows)  # type: ignore[arg-type]
    expected = word_attention(pattern, weights, units.members)
    for n_threads in (1, 4):
        found = merged_maps(
            pattern.numpy(),
            units.units.numpy(),
            weights.sum(dim=1).numpy(),
            units.units.numpy(),
            (weights.shape[1], weights.shape[1]),
            n_threads,
        )
        np.testing.assert_allclose(found, expected.numpy(), atol=1e-6)


@pytest.mark.parametrize("rows", ["mean", "first"])
def test_strongest(rows: str) -> None:
    """Words of one token and of several, also with tokens of others between, in three sentences."""
    n_tokens = 40
    generator = np.random.default_rng(7)
    words = torch.from_numpy(
        np.stack([np.sort(generator.integers(-1, 17, n_tokens)) for _ in range(4)])
    )
    words[2] = torch.arange(n_tokens)
    words[3] = words[3, torch.randperm(n_tokens)]
    real = torch.ones_like(words, dtype=torch.bool)
    real[1, 31:] = False
    blank = torch.zeros_like(words)
    units = word_units(Tokens(blank, real, blank, blank, words))
    pattern = maps(4, 3, n_tokens) * real[:, None, None, :]
    pattern[0, 0] = 0.0  # nobody attends to anything
    pattern[2, 1] = 1 / 32  # all alike: the first of equals
    sentences = torch.from_numpy(generator.integers(-1, 3, tuple(units.words.shape)))
    for row in (0, 2):  # in one piece each, in 2 one token a word
        sentences[row] = sentences[row].sort().values
    sentences = torch.where(units.real, sentences, -1)
    weights = units.row_weights(rows)  # type: ignore[arg-type]
    expected = pointed_words(word_attention(pattern, weights, units.members), sentences)
    known = SentenceWords.of(units.units.numpy(), weights.sum(dim=1).numpy(), sentences.numpy())
    for n_threads in (1, 3):
        found = strongest_words(pattern.numpy(), known, n_threads)
        for mine, theirs in zip(found, expected, strict=True):
            np.testing.assert_array_equal(mine, theirs)
    assert known.reach[2, :, 4].any(), "no sentence is plain"
    assert (found[0][0, 0] == -1).all()
    assert (found[0] >= 0).any()


def test_sieves() -> None:
    pattern = maps(3, 2, 17)
    sieves = torch.rand(3, 5, 17, 17) < 0.1
    sieves[1] = False  # a sequence that lacks all roles
    allowed = torch.ones(17, 17, dtype=torch.bool).tril().expand(3, 17, 17)
    expected = sieve_bias(pattern, *sieve_weights(sieves, allowed)).numpy()
    sparse = SparseSieves.of(sieves.numpy(), allowed.numpy())
    for n_threads in (1, 3):
        found = sieve_scores(pattern.numpy(), sparse, n_threads)
        np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert np.isnan(found[1]).all()
    assert np.isfinite(found[0]).all()
