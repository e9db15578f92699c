"""Does a mean exceed a threshold?"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, stdtr

Test: TypeAlias = Literal["z", "t"]


def mean_test(
    mean: ArrayLike, std: ArrayLike, n: ArrayLike, tau: float, test: Test = "z"
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The statistic and p-value of H0: mean ≤ τ, upper tail, element by element.

        z = (mean − τ) / (std / √n),   p = 1 − Φ(z)

    `test="t"` takes Student's distribution with n − 1 degrees of freedom instead of Φ. Scores that
    are all equal have no spread: z is ±∞ and p 0 or 1 (p = 1 at τ itself). NaN where n < 2. Source:
    Pande et al. 2021, "Hypothesis Testing" (z); their released code uses t.

    >>> z, p = mean_test([4.0, 2.0], [2.0, 2.0], [16, 16], tau=3.0)
    >>> z.tolist(), p.round(4).tolist()
    ([2.0, -2.0], [0.0228, 0.9772])
    """
    centre, spread, size = np.broadcast_arrays(
        np.asarray(mean, np.float64), np.asarray(std, np.float64), np.asarray(n, np.float64)
    )
    enough = (size >= 2) & ~np.isnan(centre) & ~np.isnan(spread)
    safe = np.where(enough, size, 2.0)
    distance = np.where(enough, centre - tau, 0.0)
    error = np.where(enough, spread, 1.0) / np.sqrt(safe)
    constant = error == 0
    limits = np.where(distance > 0, np.inf, -np.inf)
    z = np.where(constant, limits, distance / np.where(constant, 1.0, error))
    p = ndtr(-z) if test == "z" else stdtr(safe - 1, -z)
    return np.where(enough, z, np.nan), np.where(enough, p, np.nan)
