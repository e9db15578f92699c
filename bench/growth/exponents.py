"""Growth as one number."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def exponent(sizes: Sequence[float], seconds: Sequence[float], n_last: int = 3) -> float:
    """The slope of log time over log size through the last points, by least squares.

    >>> round(exponent([1, 2, 4, 8], [1.0, 4.0, 16.0, 64.0]), 3)
    2.0
    """
    x, y = np.log(np.array(sizes[-n_last:])), np.log(np.array(seconds[-n_last:]))
    return float(np.polyfit(x, y, 1)[0])
