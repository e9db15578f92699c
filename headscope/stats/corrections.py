"""Corrections for testing many heads and roles at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def benjamini_hochberg(p_values: ArrayLike) -> NDArray[np.float64]:
    """q-values that control the false discovery rate, over all elements together.

    With p sorted, q₍ᵢ₎ = min over j ≥ i of p₍ⱼ₎ · m / j, at most 1: rejecting q ≤ α keeps the
    expected share of false rejections at most α when the tests are independent or positively
    dependent. NaN was not tested: it stays NaN and does not count towards m. Source: Benjamini &
    Hochberg (1995), JRSS B 57(1), procedure 1.

    >>> benjamini_hochberg([0.01, 0.04, float("nan"), 0.03]).round(4).tolist()
    [0.03, 0.04, nan, 0.04]
    """
    # scipy.stats has this too, but takes more than a second to import; reading a run should not.
    p, tested = _split(p_values)
    q = np.full(p.shape, np.nan)
    family = p[tested]
    order = np.argsort(family, kind="stable")
    m = family.size
    raised = family[order] * m / np.arange(1, m + 1)
    result = np.empty(m)
    result[order] = np.minimum(np.minimum.accumulate(raised[::-1])[::-1], 1.0)
    q[tested] = result
    return q


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Adjusted p-values that control the family-wise error rate, over all elements together.

    With p sorted, adjusted₍ᵢ₎ = max over j ≤ i of (m - j + 1) · p₍ⱼ₎, at most 1: rejecting
    adjusted ≤ α makes even one false rejection no more likely than α, whatever the dependence.
    NaN was not tested: it stays NaN and does not count towards m. Source: Holm (1979),
    Scandinavian Journal of Statistics 6(2), §3.

    >>> holm([0.01, 0.04, float("nan"), 0.03]).round(4).tolist()      # 3·0.01, 1·0.04, 2·0.03
    [0.03, 0.06, nan, 0.06]
    """
    p, tested = _split(p_values)
    adjusted = np.full(p.shape, np.nan)
    family = p[tested]
    order = np.argsort(family, kind="stable")
    m = family.size
    raised = np.maximum.accumulate(family[order] * (m - np.arange(m)))
    result = np.empty(m)
    result[order] = np.minimum(raised, 1.0)
    adjusted[tested] = result
    return adjusted


def _split(p_values: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    p = np.asarray(p_values, dtype=np.float64)
    tested = ~np.isnan(p)
    if np.any((p[tested] < 0) | (p[tested] > 1)):
        raise ValueError("p-values must lie between 0 and 1")
    return p, tested
