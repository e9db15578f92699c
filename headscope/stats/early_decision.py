"""Deciding early: tests that stay valid however often one looks.

A fixed-sample test is wrong if one stops as soon as it says what one hoped for. The two tools here
may be looked at after every batch:

- `log_e_value` for "the mean exceeds τ" is exact for any non-negative scores, of any distribution
  and any bound, at every sample size: the capital of a gambler who bets on scores above τ at fair
  odds. By Ville's inequality it ever reaches 1/α with probability at most α if the mean is ≤ τ.
- `asymptotic_upper` bounds the mean from above for "the mean stays below τ". It is valid for all
  sample sizes at once up to the error of the central limit theorem, so it wants a burn-in.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

#: What the gamblers stake on each score, as shares of the most that leaves them solvent, 1/τ.
STAKES: Final = np.geomspace(0.01, 0.95, 12)


def log_bets(scores: ArrayLike, tau: float) -> NDArray[np.float64]:
    """Σ over the first axis of log(1 + λ_g · (score − τ)) for every stake λ_g = STAKES_g / τ.

    Each is the log capital of one gambler; sums over parts of a corpus add, in any order. A NaN
    score is no data and no bet.

    >>> log_bets([[3.0], [float("nan")]], tau=3.0).shape
    (1, 12)
    """
    if tau <= 0:
        raise ValueError(f"tau must be positive, found {tau}")
    x = np.asarray(scores, dtype=np.float64)
    if np.any(x < 0):
        raise ValueError("scores must not be negative")
    gain = np.where(np.isnan(x), 0.0, x / tau - 1.0)
    log_capital: NDArray[np.float64] = np.log1p(gain[..., None] * STAKES).sum(axis=0)
    return log_capital


def log_e_value(log_capital: ArrayLike) -> NDArray[np.float64]:
    """The log of the gamblers' mean capital, over the last axis: evidence that the mean exceeds τ.

        E = 1/G · Σ_g Π_i (1 + λ_g (x_i − τ)),   0 < λ_g < 1/τ

    If the mean is ≤ τ every factor has expectation ≤ 1, so E is a non-negative supermartingale
    and P(E ever ≥ 1/α) ≤ α; the mixture over stakes makes it adapt to the scores' variance. Source:
    Waudby-Smith & Ramdas (2024), "Estimating means of bounded random variables by betting", JRSS B
    86(1): capital processes, here with fixed stakes mixed evenly. A bet on high scores can lose at
    most its stake on a score of 0, so this side needs no upper bound of the scores.

    >>> float(log_e_value(log_bets(np.full(100, 3.0), tau=3.0)))
    0.0
    >>> bool(log_e_value(log_bets(np.full(100, 6.0), tau=3.0)) > 10)
    True
    """
    capital = np.asarray(log_capital, dtype=np.float64)
    return np.asarray(logsumexp(capital, axis=-1) - np.log(capital.shape[-1]))


def asymptotic_upper(
    mean: ArrayLike, std: ArrayLike, n: ArrayLike, alpha: float, tight_at: int = 500
) -> NDArray[np.float64]:
    """An upper bound of the mean that holds for all sample sizes at once, with error α.

        mean + std · √( 2 (nρ² + 1) / (n²ρ²) · log(1 + √(nρ² + 1) / (2α)) )

    ρ makes it tightest near n = `tight_at`. NaN where n < 2. Source: Waudby-Smith, Arbour, Sinha,
    Kennedy & Ramdas (2024), "Time-uniform central limit theory and asymptotic confidence
    sequences", Annals of Statistics 52(6): theorem 2.2 in its one-sided form (their appendix, as
    is ρ). Valid up to the error of the central limit theorem: for skewed scores wait for a few
    dozen of them.

    >>> asymptotic_upper(1.0, 2.0, 400, alpha=0.05).round(2).tolist()      # 1 + 1.64 · 2/20 alone
    1.28
    """
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must lie between 0 and 1, found {alpha}")
    size = np.asarray(n, dtype=np.float64)
    t = np.maximum(size, 1.0)
    two_log = -2 * np.log(2 * alpha) if 2 * alpha < 0.5 else 2 * np.log(2)
    rho2 = (two_log + np.log(two_log) + 1) / tight_at
    width = np.sqrt(
        2 * (t * rho2 + 1) / (t**2 * rho2) * np.log1p(np.sqrt(t * rho2 + 1) / (2 * alpha))
    )
    bound = np.asarray(mean, np.float64) + np.asarray(std, np.float64) * width
    return np.where(size >= 2, bound, np.nan)


def decide(
    log_e: ArrayLike,
    mean: ArrayLike,
    std: ArrayLike,
    n: ArrayLike,
    *,
    tau: float,
    alpha: float,
    n_tests: int,
    burn_in: int = 50,
) -> NDArray[np.int8]:
    """1 where the mean exceeds τ, -1 where it stays below, 0 where that is still open.

    The error α is shared out evenly over `n_tests` (a union bound): with probability 1 − α no
    element ever gets a wrong 1, however often one looks; and asymptotically none a wrong -1, which
    waits for `burn_in` scores.

    >>> decide([15.0, 0.0, 0.0], [9.0, 1.0, 1.0], [1.0, 1.0, 1.0], [90, 90, 9],
    ...     tau=3, alpha=0.05, n_tests=100).tolist()
    [1, -1, 0]
    """
    size = np.asarray(n)
    above = np.asarray(log_e) >= np.log(n_tests / alpha)
    upper = asymptotic_upper(mean, std, size, alpha / n_tests)
    below = (size >= max(burn_in, 2)) & (upper < tau)
    return np.where(above, 1, np.where(below, -1, 0)).astype(np.int8)
