from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from headscope.stats import mean_interval, wilson_interval


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.999])
def test_mean_interval_against_scipy(confidence: float) -> None:
    x = np.random.default_rng(0).normal(5, 3, (12, 4))
    low, high = mean_interval(x.mean(0), x.std(0, ddof=1), 12, confidence)
    expected = stats.t.interval(confidence, 11, loc=x.mean(0), scale=stats.sem(x))
    np.testing.assert_allclose((low, high), expected, rtol=1e-12)


def test_mean_interval_needs_two() -> None:
    low, high = mean_interval([1.0, 1.0, np.nan, 1.0], [np.nan, np.nan, 1.0, 0.0], [0, 1, 5, 5])
    np.testing.assert_array_equal(np.isnan(low), [True, True, True, False])
    assert (low[3], high[3]) == (1.0, 1.0)


@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
def test_wilson_against_scipy(confidence: float) -> None:
    successes, trials = np.array([0, 1, 5, 9, 10, 333]), np.array([10, 10, 10, 10, 10, 1000])
    low, high = wilson_interval(successes, trials, confidence)
    for i, (k, n) in enumerate(zip(successes, trials, strict=True)):
        ci = stats.binomtest(int(k), int(n)).proportion_ci(confidence, method="wilson")
        assert (low[i], high[i]) == pytest.approx((ci.low, ci.high), abs=1e-12)


def test_wilson_by_hand() -> None:
    # p = 1/2, n = 4, z = 1.959964: z² = 3.841459, centre (0.5 + 0.480182)/1.960365 = 0.5,
    # half = 1.959964·√(0.0625 + 0.060023)/1.960365 = 1.959964·0.350033/1.960365 = 0.349961.
    low, high = wilson_interval(2, 4)
    assert (float(low), float(high)) == pytest.approx((0.150039, 0.849961), abs=1e-5)


def test_wilson_at_the_ends() -> None:
    low, high = wilson_interval([0, 7, 0], [7, 7, 0])
    assert low[0] == 0.0
    assert high[1] == 1.0
    assert np.isnan([low[2], high[2]]).all()
    assert 0 < high[0] < 1
    with pytest.raises(ValueError, match="between 0 and trials"):
        wilson_interval(3, 2)


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95, float("nan")])
def test_confidence_is_checked(confidence: float) -> None:
    with pytest.raises(ValueError, match="confidence"):
        mean_interval(0, 1, 2, confidence)
    with pytest.raises(ValueError, match="confidence"):
        wilson_interval(0, 1, confidence)
