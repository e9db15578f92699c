"""Skewness and the bootstrap of t, against scipy and a plain loop."""

from __future__ import annotations

import numpy as np
from scipy import stats

from headscope.stats import bootstrap_p_value, skewness


def test_skewness_is_scipys() -> None:
    x = np.random.default_rng(1).exponential(size=(50, 4))
    np.testing.assert_allclose(skewness(x), stats.skew(x), rtol=1e-10)
    assert np.isnan(skewness(np.full((9, 1), 0.1))).all()


def test_bootstrap_is_the_plain_loop() -> None:
    x = np.random.default_rng(2).exponential(3.0, (30, 2))
    n, n_resamples, tau, seed = 30, 400, 2.5, 5
    rng = np.random.default_rng(seed)
    t = (x.mean(0) - tau) / (x.std(0, ddof=1) / np.sqrt(n))
    hits = np.zeros(2)
    for _ in range(n_resamples):
        again = x[rng.integers(n, size=(1, n))[0]]
        t_star = (again.mean(0) - x.mean(0)) / (again.std(0, ddof=1) / np.sqrt(n))
        hits += t_star >= t
    got = bootstrap_p_value(x, tau, n_resamples=n_resamples, seed=seed)
    np.testing.assert_allclose(got, (1 + hits) / (1 + n_resamples), atol=1e-12)


def test_bootstrap_follows_student_for_normal_samples() -> None:
    x = np.random.default_rng(3).normal(3.1, 1.0, (200, 6))
    expected = stats.ttest_1samp(x, 3.0, alternative="greater").pvalue
    np.testing.assert_allclose(bootstrap_p_value(x, 3.0, n_resamples=4000), expected, atol=0.03)


def test_bootstrap_corrects_skewness() -> None:
    """Exponential samples of mean τ, n = 15: the z test errs far from 5 %, the bootstrap less."""
    rng = np.random.default_rng(4)
    x = 6.0 - rng.exponential(3.0, (15, 1500))  # skewed to the left: t is skewed to the right
    t = (x.mean(0) - 3.0) / (x.std(0, ddof=1) / np.sqrt(15))
    by_z = (stats.norm.sf(t) <= 0.05).mean()
    by_bootstrap = (bootstrap_p_value(x, 3.0, n_resamples=499) <= 0.05).mean()
    assert by_z > 0.10
    assert abs(by_bootstrap - 0.05) < abs(by_z - 0.05) / 2


def test_no_data() -> None:
    assert np.isnan(bootstrap_p_value(np.zeros((1, 2)), 3.0)).all()
    assert np.isnan(bootstrap_p_value(np.full((8, 2), 0.1), 3.0)).all()
