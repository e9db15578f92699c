"""Surface attention (Clark et al. 2019, §3.1–3.2): for every head, token by token."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from bench.naive.stored import Maps
from headscope.types import Encoded, TokenKind

_CLASSES = (
    {TokenKind.CLS},
    {TokenKind.SEP},
    {TokenKind.PERIOD, TokenKind.COMMA},
    {TokenKind.OTHER},
)


def surface(maps: Maps, encoded: Encoded) -> NDArray[np.float64]:
    """[layer, head, (self, prev, next, cls, sep, punct, other)] of one sequence."""
    n_layers, n_heads, n, _ = maps.shape
    found = np.zeros((n_layers, n_heads, 7))
    keys = [[k for k in range(n) if encoded.kinds[k] in wanted] for wanted in _CLASSES]
    for layer in range(n_layers):
        for head in range(n_heads):
            for query in range(n):
                row = maps[layer, head, query]
                found[layer, head, 0] += row[query] / n
                if query > 0:
                    found[layer, head, 1] += row[query - 1] / n
                if query < n - 1:
                    found[layer, head, 2] += row[query + 1] / n
                for place, of_class in enumerate(keys, start=3):
                    if of_class:
                        found[layer, head, place] += row[of_class].sum() / n
                    else:
                        found[layer, head, place] = math.nan
    return found
