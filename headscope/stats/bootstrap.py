"""A check for skewed samples, where the normal test of a mean may err."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def skewness(samples: ArrayLike) -> NDArray[np.float64]:
    """m₃ / m₂^{3/2} along the first axis, with m_k the k-th central moment; NaN without spread.

    >>> skewness([[0.0], [0.0], [0.0], [4.0]]).round(4).tolist()      # m₂ = 3, m₃ = 6
    [1.1547]
    """
    x = np.asarray(samples, dtype=np.float64)
    if len(x) == 0:
        return np.full(x.shape[1:], np.nan)
    deviation = x - x.mean(axis=0)
    m2, m3 = (deviation**2).mean(axis=0), (deviation**3).mean(axis=0)
    # What is left of equal numbers after rounding is no spread.
    spread = m2 > (1e-7 * np.abs(x).max(axis=0)) ** 2
    skew: NDArray[np.float64] = np.where(spread, m3 / np.where(spread, m2, 1.0) ** 1.5, np.nan)
    return skew


def bootstrap_p_value(
    samples: ArrayLike, tau: float, *, n_resamples: int = 999, seed: int = 0
) -> NDArray[np.float64]:
    """p-values of H0: mean ≤ τ by the bootstrap of Student's t, one per column.

    Rows are drawn with replacement, the same for all columns. With t the statistic of the sample
    against τ and t* that of a resample against the sample's own mean,

        p = (1 + #{t* ≥ t}) / (1 + n_resamples).

    Unlike the normal test it follows the skewness of t. A resample without spread counts as t* ≥ t
    against us. NaN without spread or with fewer than two rows. Source: Efron & Tibshirani (1993),
    "An Introduction to the Bootstrap", §16.4, algorithm 16.2; Davison & Hinkley (1997), eq. 4.11.

    >>> x = np.random.default_rng(0).exponential(4.0, (300, 1))
    >>> bool(bootstrap_p_value(x, tau=3.0) < 0.01), bool(bootstrap_p_value(x, tau=5.0) > 0.5)
    (True, True)
    """
    x = np.asarray(samples, dtype=np.float64)
    n = len(x)
    if n < 2:
        return np.full(x.shape[1:], np.nan)
    rng = np.random.default_rng(seed)
    mean = x.mean(axis=0)
    centred = x - mean
    std = centred.std(axis=0, ddof=1)
    spread = std > 1e-7 * np.maximum(np.abs(mean), 1e-300)
    safe = np.where(spread, std, 1.0)
    t = (mean - tau) / (safe / np.sqrt(n))
    at_least = np.zeros(x.shape[1:], dtype=np.int64)
    # Counts of each row in a resample turn all resamples' sums into one matrix product.
    for start in range(0, n_resamples, 500):
        size = min(500, n_resamples - start)
        drawn = rng.integers(n, size=(size, n)) + n * np.arange(size)[:, None]
        counts = np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n).astype(np.float64)
        first = counts @ centred / n
        second = counts @ centred**2 / n
        variance = np.maximum(second - first**2, 0.0) * n / (n - 1)
        flat = variance <= (1e-9 * safe) ** 2
        t_star = first / np.sqrt(np.where(flat, 1.0, variance) / n)
        at_least += (flat | (t_star >= t)).sum(axis=0)
    p = (1 + at_least) / (1 + n_resamples)
    return np.where(spread, p, np.nan)
