"""Distance of heads (Clark et al. 2019, §6): Jensen–Shannon of every two heads, row by row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bench.naive.stored import Maps


def _kullback_leibler(p: NDArray[np.float64], m: NDArray[np.float64]) -> float:
    seen = p > 0
    return float((p[seen] * np.log(p[seen] / m[seen])).sum())


def divergence(maps: Maps) -> NDArray[np.float64]:
    """The sum over rows for every pair of heads, earlier head first, of one sequence."""
    n_layers, n_heads, n, _ = maps.shape
    heads = maps.reshape(n_layers * n_heads, n, n).astype(np.float64)
    found = []
    for a in range(len(heads)):
        for b in range(a + 1, len(heads)):
            total = 0.0
            for query in range(n):
                p, q = heads[a, query], heads[b, query]
                m = (p + q) / 2
                total += (_kullback_leibler(p, m) + _kullback_leibler(q, m)) / 2
            found.append(total)
    return np.array(found)
