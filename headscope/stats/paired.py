"""Is a difference between two models on the same examples more than chance?"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Resamples at a time: bounds the memory whatever their number.
_AT_ONCE = 1000


def resamples(n: int, n_resamples: int, seed: int = 0) -> Iterator[NDArray[np.float64]]:
    """How often each of n examples stands in every resample, some resamples at a time.

    Both models must be scored on the same resamples: that is what makes the bootstrap paired.

    >>> parts = list(resamples(5, 3))
    >>> [part.shape for part in parts], parts[0].sum(axis=1).tolist()
    ([(3, 5)], [5.0, 5.0, 5.0])
    """
    rng = np.random.default_rng(seed)
    for start in range(0, n_resamples, _AT_ONCE):
        size = min(_AT_ONCE, n_resamples - start)
        drawn = rng.integers(n, size=(size, n)) + n * np.arange(size)[:, None]
        counts = np.bincount(drawn.ravel(), minlength=size * n)
        yield counts.reshape(size, n).astype(np.float64)


def percentile_interval(resampled: ArrayLike, confidence: float = 0.95) -> tuple[float, float]:
    """The bootstrap's percentile interval; NaN resamples (no data in them) are left out.

    Source: Efron & Tibshirani (1993), "An Introduction to the Bootstrap", §13.3.

    >>> low, high = percentile_interval(np.arange(101.0))
    >>> round(low, 6), round(high, 6)
    (2.5, 97.5)
    """
    known = np.asarray(resampled, np.float64)
    known = known[~np.isnan(known)]
    if not known.size:
        return float("nan"), float("nan")
    tail = 50 * (1 - confidence)
    low, high = np.percentile(known, [tail, 100 - tail])
    return float(low), float(high)


def paired_p_value(difference: float, resampled: ArrayLike) -> float:
    """The two-sided p-value of H0: no difference, from paired bootstrap differences.

        p = (1 + #{|d* − d| ≥ |d|}) / (1 + n_resamples)

    The spread of d* around d stands for that of d around 0. No difference at all is p = 1. Source:
    Efron & Tibshirani (1993), §16.4, with the shift of Davison & Hinkley (1997), eq. 4.11; its use
    for comparing systems on one test set: Berg-Kirkpatrick et al. (2012), "An Empirical
    Investigation of Statistical Significance in NLP".

    >>> paired_p_value(0.0, np.zeros(99)), paired_p_value(1.0, np.full(99, 1.0))
    (1.0, 0.01)
    """
    stars = np.asarray(resampled, np.float64)
    stars = stars[~np.isnan(stars)]
    if np.isnan(difference) or not stars.size:
        return float("nan")
    # what differs by rounding alone is as large
    least = abs(difference) * (1 - 1e-12)
    return float((1 + (np.abs(stars - difference) >= least).sum()) / (1 + stars.size))
