"""A map for a terminal: five shades, two characters a cell."""

from __future__ import annotations

import torch

from headscope.measures.patterns.labelled_maps import Map, pooled
from headscope.measures.patterns.rulers import brightness

SHADES = " ░▒▓█"


def as_text(pattern: Map, widest: int = 40) -> str:
    """Brightness is the square root of the weight; the brightest half percent is full.

    >>> import numpy as np
    >>> print(as_text(np.eye(3, dtype=np.float32)).replace(" ", "."))
    ██....
    ..██..
    ....██
    """
    small = torch.from_numpy(pooled(pattern, widest))[None]
    shown = brightness(small, torch.tensor([small.shape[-1]]))[0]
    steps = (shown * (len(SHADES) - 1)).round().int().tolist()
    return "\n".join("".join(SHADES[s] * 2 for s in row) for row in steps)
