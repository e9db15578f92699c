"""Metrics against scikit-learn and scipy, on the data and on resamples of them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics as sk

from headscope.errors import UsageError
from headscope.stats import paired_p_value, percentile_interval, resamples
from headscope.tasks import METRICS, metric_named

RNG = np.random.default_rng(0)
N = 60
GOLD = RNG.integers(0, 2, N).astype(float)
SAID = np.where(RNG.random(N) < 0.8, GOLD, 1 - GOLD)
NUMBERS = RNG.normal(3, 1, N)
# with many ties, as STS-B's gold has
SCORES = np.round(NUMBERS + RNG.normal(0, 1, N))
LOSS, WEIGHT = RNG.exponential(1, N), RNG.integers(1, 9, N).astype(float)
ANSWERS = {
    "class": SAID,
    "value": NUMBERS,
    "loss": LOSS,
    "n_predicted": WEIGHT,
    "exact": GOLD,
    "f1": NUMBERS,
}
EXPECTED = {
    "accuracy": lambda i: sk.accuracy_score(GOLD[i], SAID[i]),
    "f1": lambda i: sk.f1_score(GOLD[i], SAID[i]),
    "pearson": lambda i: stats.pearsonr(NUMBERS[i], SCORES[i])[0],
    "spearman": lambda i: stats.spearmanr(NUMBERS[i], SCORES[i])[0],
    "exact_match": lambda i: GOLD[i].mean(),
    "answer_f1": lambda i: NUMBERS[i].mean(),
    "loss": lambda i: LOSS[i].mean(),
    "token_loss": lambda i: np.average(LOSS[i], weights=WEIGHT[i]),
}


@pytest.mark.parametrize("name", sorted(METRICS))
def test_they_say_what_others_say(name: str) -> None:
    gold = SCORES if name in ("pearson", "spearman") else GOLD
    everything = np.arange(N)
    assert METRICS[name].score(ANSWERS, gold) == pytest.approx(EXPECTED[name](everything))
    # a resample is a data set in which rows stand several times
    draws = RNG.integers(N, size=(20, N))
    counts = np.array([np.bincount(draw, minlength=N) for draw in draws], dtype=float)
    found = METRICS[name].resampled(ANSWERS, gold, counts)
    np.testing.assert_allclose(found, [EXPECTED[name](draw) for draw in draws], rtol=1e-10)


def test_what_is_not_defined_is_no_data() -> None:
    same = {"value": np.ones(4)}
    assert np.isnan(METRICS["pearson"].score(same, np.arange(4.0)))
    assert np.isnan(METRICS["spearman"].score(same, np.arange(4.0)))
    assert np.isnan(METRICS["f1"].score({"class": np.zeros(3)}, np.zeros(3)))


def test_an_example_with_no_loss_does_not_count() -> None:
    no_loss = {"loss": np.array([1.0, np.nan, 3.0])}
    assert METRICS["loss"].score(no_loss, np.zeros(3)) == 2.0
    assert np.isnan(METRICS["loss"].score({"loss": np.full(2, np.nan)}, np.zeros(2)))


def test_a_wrong_name_gets_the_right_ones() -> None:
    with pytest.raises(UsageError, match="known: accuracy"):
        metric_named("accurracy")


def test_the_paired_interval_covers_and_the_test_keeps_its_level() -> None:
    rng = np.random.default_rng(1)
    covered, rejected, n_worlds = 0, 0, 200
    for _ in range(n_worlds):
        x = rng.normal(0.0, 1.0, 80)
        stars = np.concatenate([counts @ x / 80 for counts in resamples(80, 500, seed=3)])
        low, high = percentile_interval(stars)
        covered += low <= 0 <= high
        rejected += paired_p_value(float(x.mean()), stars) <= 0.05
    assert 0.90 <= covered / n_worlds <= 0.99
    assert rejected / n_worlds <= 0.10


def test_no_difference_at_all_is_no_evidence() -> None:
    assert paired_p_value(0.0, np.zeros(99)) == 1.0
    assert percentile_interval(np.zeros(99)) == (0.0, 0.0)
    assert np.isnan(paired_p_value(float("nan"), np.zeros(3)))
