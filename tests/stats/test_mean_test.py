"""The test of a mean against scipy, and its edges."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from headscope.stats import mean_test


@pytest.mark.parametrize("tau", [0.5, 3.0])
def test_t_is_scipys(tau: float) -> None:
    x = np.random.default_rng(0).gamma(2.0, 1.6, (40, 5))
    z, p = mean_test(x.mean(0), x.std(0, ddof=1), 40, tau, "t")
    expected = stats.ttest_1samp(x, tau, alternative="greater")
    np.testing.assert_allclose(z, expected.statistic, rtol=1e-12)
    np.testing.assert_allclose(p, expected.pvalue, rtol=1e-10)


def test_z_is_the_normal_tail() -> None:
    z, p = mean_test([3.5, 2.0], [1.0, 4.0], [25, 100], 3.0, "z")
    np.testing.assert_allclose(z, [2.5, -2.5])
    np.testing.assert_allclose(p, stats.norm.sf([2.5, -2.5]), rtol=1e-12)


def test_no_spread_no_data() -> None:
    z, p = mean_test([4.0, 2.0, 3.0, 4.0, np.nan], [0, 0, 0, 1, np.nan], [9, 9, 9, 1, 0], 3.0)
    assert p.tolist()[:3] == [0.0, 1.0, 1.0]
    assert z.tolist()[:2] == [np.inf, -np.inf]
    assert np.isnan(p[3:]).all()
    assert np.isnan(z[3:]).all()
