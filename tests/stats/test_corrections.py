from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headscope.stats import benjamini_hochberg, holm

# Sorted: 0.005 0.01 0.03 0.04 0.5, m = 5.
P = np.array([0.03, 0.005, 0.5, 0.04, 0.01])


def test_benjamini_hochberg_by_hand() -> None:
    # p·m/i: 0.025, 0.025, 0.05, 0.05, 0.5; each the minimum from the right.
    np.testing.assert_allclose(benjamini_hochberg(P), [0.05, 0.025, 0.5, 0.05, 0.025])


def test_holm_by_hand() -> None:
    # p·(m - i + 1): 0.025, 0.04, 0.09, 0.08, 0.5; each the maximum from the left.
    np.testing.assert_allclose(holm(P), [0.09, 0.025, 0.5, 0.09, 0.04])


@pytest.mark.parametrize("correct", [benjamini_hochberg, holm])
def test_nan_was_not_tested(correct: object) -> None:
    assert callable(correct)
    with_gaps = np.array([[np.nan, *P[:2]], [P[2], P[3], P[4]]])
    corrected = correct(with_gaps)
    assert corrected.shape == (2, 3)
    assert np.isnan(corrected[0, 0])
    np.testing.assert_array_equal(corrected.ravel()[1:], correct(P))
    assert np.isnan(correct([np.nan, np.nan])).all()
    assert correct([]).shape == (0,)
    with pytest.raises(ValueError, match="between 0 and 1"):
        correct([1.5])


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_against_loops_from_the_formulas(p: list[float]) -> None:
    m, ranked = len(p), sorted(p)
    q = [min(min(ranked[j] * m / (j + 1) for j in range(i, m)), 1.0) for i in range(m)]
    h = [min(max((m - j) * ranked[j] for j in range(i + 1)), 1.0) for i in range(m)]
    np.testing.assert_allclose(sorted(benjamini_hochberg(p)), q, rtol=1e-12)
    np.testing.assert_allclose(sorted(holm(p)), h, rtol=1e-12)
