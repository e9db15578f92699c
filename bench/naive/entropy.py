"""Entropy (Clark et al. 2019, §3.3): −Σ a ln a of every row, and its mean."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bench.naive.stored import Maps


def entropy(maps: Maps) -> NDArray[np.float64]:
    """[layer, head] of one sequence."""
    n_layers, n_heads, n, _ = maps.shape
    found = np.zeros((n_layers, n_heads))
    for layer in range(n_layers):
        for head in range(n_heads):
            for query in range(n):
                row = maps[layer, head, query]
                seen = row[row > 0]
                found[layer, head] += -(seen * np.log(seen)).sum() / n
    return found
