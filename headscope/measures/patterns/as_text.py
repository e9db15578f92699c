"""A map for a terminal: five shades, two characters a cell."""

from __future__ import annotations

import numpy as np

from headscope.measures.patterns.labelled_maps import Map, pooled

SHADES = " ░▒▓█"


def as_text(pattern: Map, widest: int = 40) -> str:
    """Brightness is the square root of the weight; the brightest half percent is full.

    >>> print(as_text(np.eye(3, dtype=np.float32)).replace(" ", "."))
    ██....
    ..██..
    ....██
    """
    small = pooled(pattern, widest)
    top = max(float(np.quantile(small, 0.995)), 1e-9)
    steps = np.rint(np.sqrt(np.clip(small / top, 0, 1)) * (len(SHADES) - 1)).astype(int)
    return "\n".join("".join(SHADES[s] * 2 for s in row) for row in steps)
