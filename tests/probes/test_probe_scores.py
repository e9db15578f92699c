"""Scores, intervals and p-values of probes, against loops from the formulas."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import f1_score

from headscope.probes.probe_table import COLUMNS, curve_counts, packed, unpacked
from headscope.probes.scores import intervals, permutation_p_values, scores

RANDOM = np.random.default_rng(0)
GOLD = RANDOM.integers(0, 2, 60)
SAID = np.where(RANDOM.random((5, 60)) < 0.7, GOLD, 1 - GOLD)
NUMBERS = RANDOM.normal(size=60)
GUESSES = NUMBERS + RANDOM.normal(size=(5, 60)) * 2


def test_scores_are_those_of_scikit_learn_and_scipy() -> None:
    np.testing.assert_allclose(scores("accuracy", SAID, GOLD), [(s == GOLD).mean() for s in SAID])
    np.testing.assert_allclose(scores("f1", SAID, GOLD), [f1_score(GOLD, s) for s in SAID])
    for metric, theirs in (("pearson", stats.pearsonr), ("spearman", stats.spearmanr)):
        expected = [theirs(g, NUMBERS)[0] for g in GUESSES]
        np.testing.assert_allclose(scores(metric, GUESSES, NUMBERS), expected, atol=1e-12)


def test_several_axes_are_kept() -> None:
    assert scores("accuracy", SAID.reshape(1, 5, 60), GOLD).shape == (1, 5)
    assert scores("pearson", GUESSES.reshape(5, 1, 60), NUMBERS).shape == (5, 1)


@pytest.mark.parametrize("metric", ["accuracy", "f1", "pearson", "spearman"])
def test_intervals_hold_the_score(metric: str) -> None:
    regression = metric in ("pearson", "spearman")
    said, gold = (GUESSES, NUMBERS) if regression else (SAID, GOLD)
    low, high = intervals(metric, said, gold)
    found = scores(metric, said, gold)
    assert (low < found).all()
    assert (found < high).all()
    assert (high - low < 0.6).all()


@pytest.mark.parametrize("metric", ["accuracy", "f1", "pearson", "spearman"])
def test_p_values_are_those_of_all_permutations(metric: str) -> None:
    """Seven rows have 5,040 orders: the drawn p-value comes near the exact one."""
    regression = metric in ("pearson", "spearman")
    gold = np.array([3.0, 1, 2, 7, 5, 4, 6]) if regression else np.array([1, 0, 1, 1, 0, 0, 1])
    said = np.array([[2.0, 1, 3, 6, 7, 5, 4]]) if regression else np.array([[1, 0, 1, 0, 0, 0, 1]])
    observed = scores(metric, said, gold)[0]
    every = [
        scores(metric, said, np.array(order))[0] >= observed - 1e-12
        for order in itertools.permutations(gold)
    ]
    found = permutation_p_values(metric, said, gold, n_permutations=4999)
    assert found[0] == pytest.approx(np.mean(every), abs=0.02)


def test_p_values_of_unrelated_predictions_are_even() -> None:
    said = RANDOM.integers(0, 3, (400, 90))
    p = permutation_p_values("accuracy", said, RANDOM.integers(0, 3, 90), n_permutations=199)
    assert 0.01 < (p <= 0.05).mean() < 0.1


def test_a_prediction_without_spread_has_no_case() -> None:
    constant = np.ones((1, 60))
    assert permutation_p_values("pearson", constant, NUMBERS, n_permutations=99)[0] == 1.0
    assert np.isnan(scores("pearson", constant, NUMBERS)[0])
    assert all(np.isnan(end).all() for end in intervals("pearson", constant, NUMBERS))


def test_curves_begin_at_one_and_end_at_all_heads() -> None:
    for n_heads, n_plain in ((144, 12), (384, 16), (4, 2), (1, 1)):
        counts = curve_counts(n_heads, n_plain, "auto")
        assert counts[0] == 1
        assert counts[-1] == n_heads
        assert n_plain in counts
        assert len(counts) <= 30
        assert counts == sorted(set(counts))
    assert curve_counts(5, 2, "all") == [1, 2, 3, 4, 5]


def test_rows_survive_a_checkpoint() -> None:
    columns = {name: [0.5, float("nan")] for name in COLUMNS}
    columns |= {name: ["a", "b"] for name in ("stack", "task", "representation", "metric")}
    columns |= {name: [3, None] for name in ("layer", "head", "n_heads", "rank")}
    columns |= {"n": [7, 8]}
    assert repr(unpacked(*packed(columns))) == repr({name: columns[name] for name in COLUMNS})
