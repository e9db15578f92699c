from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from headscope.values import Moments


def test_against_scipy_on_several_axes() -> None:
    x = np.random.default_rng(0).normal(3, 2, (5, 4, 3))
    m = Moments.of(x, axis=(0, 1))
    np.testing.assert_allclose(m.mean, x.mean((0, 1)), rtol=1e-13)
    np.testing.assert_allclose(m.variance, x.var((0, 1), ddof=1), rtol=1e-13)
    np.testing.assert_allclose(m.sem, stats.sem(x.reshape(20, 3)), rtol=1e-13)
    assert Moments.of(x, axis=-1).shape == (5, 4)


def test_large_offset_costs_no_digits() -> None:
    # 4, 7, 13, 16 have mean 10 and squared deviations 36 + 9 + 9 + 36 = 90, variance 90/3 = 30.
    x = np.array([4.0, 7.0, 13.0, 16.0]) + 1e9
    parts = [Moments.of(x[i : i + 1]) for i in range(4)]
    total = parts[0] + parts[1] + parts[2] + parts[3]
    assert float(total.mean) == 1e9 + 10
    assert float(total.variance) == pytest.approx(30.0, rel=1e-12)
    assert float(Moments.of(x).variance) == pytest.approx(30.0, rel=1e-12)


def test_many_merges_stay_accurate() -> None:
    x = np.random.default_rng(1).normal(1e9, 1.0, 20_000)
    total = Moments.empty(())
    for part in np.array_split(x, 500):
        total = total + Moments.of(part)
    exact = x - 1e9
    assert float(total.mean) - 1e9 == pytest.approx(exact.mean(), abs=1e-6)
    assert float(total.variance) == pytest.approx(exact.var(ddof=1), rel=1e-9)


def test_no_data_is_nan_and_never_zero() -> None:
    m = Moments.of(np.array([[np.nan, 1.0], [np.nan, np.nan]]))
    assert m.n.tolist() == [0, 1]
    assert np.isnan(m.mean[0])
    assert m.mean[1] == 1.0
    assert np.isnan(m.variance).all()
    assert np.isnan(m.sem).all()
    assert Moments.of(np.empty((0, 2))).n.tolist() == [0, 0]


def test_infinity_makes_no_warning() -> None:
    m = Moments.of(np.array([np.inf, 1.0]))
    assert float(m.mean) == np.inf
    total = m + Moments.of(np.array([2.0]))
    assert int(total.n) == 3
    assert not np.isfinite(total.mean)
    assert np.isnan(total.variance)


def test_unlike_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match=r"cannot add Moments of shape \(2,\) and \(3,\)"):
        _ = Moments.empty(2) + Moments.empty(3)
    with pytest.raises(ValueError, match="one shape"):
        Moments(np.zeros(2, np.int64), np.zeros(2), np.zeros(3))
    with pytest.raises(TypeError):
        _ = Moments.empty(2) + 1  # type: ignore[operator]


def test_a_value_is_a_copy_and_read_only() -> None:
    n, mean, m2 = np.ones(1, np.int64), np.ones(1), np.ones(1)
    m = Moments(n, mean, m2)
    mean[0] = 99.0
    assert m.mean[0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        m.centre[0] = 5.0
