"""Confidence intervals of a mean and of a proportion."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri, stdtrit

Interval = tuple[NDArray[np.float64], NDArray[np.float64]]


def mean_interval(
    mean: ArrayLike, std: ArrayLike, n: ArrayLike, confidence: float = 0.95
) -> Interval:
    """Student's interval of a mean: mean ± t · std / √n, element by element.

    t is the (1 + confidence) / 2 quantile with n - 1 degrees of freedom; `std` is the sample's
    (ddof = 1). NaN where n < 2 or anything is NaN. It takes the samples as independent and their
    mean as close to normal; sequences of one document may be neither. Source: Student (1908).

    >>> low, high = mean_interval(10.0, 2.0, 4)
    >>> round(float(low), 4), round(float(high), 4)      # 10 ± 3.1824 · 2 / 2
    (6.8176, 13.1824)
    """
    _check(confidence)
    centre, spread, size = np.broadcast_arrays(
        np.asarray(mean, np.float64), np.asarray(std, np.float64), np.asarray(n, np.float64)
    )
    enough = size >= 2
    safe = np.where(enough, size, 2.0)
    half = stdtrit(safe - 1, (1 + confidence) / 2) * spread / np.sqrt(safe)
    return np.where(enough, centre - half, np.nan), np.where(enough, centre + half, np.nan)


def wilson_interval(successes: ArrayLike, trials: ArrayLike, confidence: float = 0.95) -> Interval:
    """Wilson's score interval of a proportion p = successes / trials, element by element.

        (p + z²/2n ± z √(p(1 - p)/n + z²/4n²)) / (1 + z²/n)

    z is the normal quantile at (1 + confidence) / 2. Always inside [0, 1], and of positive width
    also at 0 and at n successes, unlike the textbook p ± z·s. NaN where n is 0. Source: Wilson
    (1927), JASA 22, p. 212; Brown, Cai & DasGupta (2001), Statistical Science 16(2), eq. 4.

    >>> low, high = wilson_interval([8, 0], [10, 0])
    >>> low.round(4).tolist(), high.round(4).tolist()
    ([0.4902, nan], [0.9433, nan])
    """
    _check(confidence)
    hits, size = np.broadcast_arrays(
        np.asarray(successes, np.float64), np.asarray(trials, np.float64)
    )
    if np.any((hits < 0) | (hits > size)):
        raise ValueError("successes must lie between 0 and trials")
    tried = size > 0
    n = np.where(tried, size, 1.0)
    p, z = hits / n, float(ndtri((1 + confidence) / 2))
    centre = p + z**2 / (2 * n)
    half = z * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    scale = 1 + z**2 / n
    # At the ends the bound is exactly 0 or 1; rounding must not move it.
    low = np.where(hits == 0, 0.0, (centre - half) / scale)
    high = np.where(hits == size, 1.0, (centre + half) / scale)
    return np.where(tried, low, np.nan), np.where(tried, high, np.nan)


def _check(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, found {confidence}")
