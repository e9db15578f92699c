"""Whether a made-up map looks like what it is meant to be: the labelling rule in numbers.

It is no classifier of its own: real maps are named by the network.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import torch

from headscope.measures.patterns.cuts import CELLS, contrasts
from headscope.measures.patterns.labelled_maps import Map, as_image, pooled
from headscope.measures.patterns.rulers import is_causal, rulers

#: Blocks are plain from here on, and from there on where a line draws the eye away from texture.
BLOCK, BLOCK_WITH_LINE = 0.12, 0.075
#: The most of a block that a map of another shape may have.
MOST_BLOCK: Final = {
    "vertical": 0.15,
    "diagonal": 0.08,
    "vertical_diagonal": 0.085,
    "heterogeneous": 0.12,
}
_BY_RULERS: Final = {
    (True, False): "vertical",
    (False, True): "diagonal",
    (True, True): "vertical_diagonal",
    (False, False): "heterogeneous",
}


def looks_like(pattern: str, made: Map) -> bool:
    """Whether a map may bear this name: its parts are plain to see, and no other is.

    >>> line, even = np.eye(32, dtype=np.float32), np.full((32, 32), 1 / 32, np.float32)
    >>> looks_like("diagonal", line), looks_like("vertical_diagonal", line)
    (True, False)
    >>> looks_like("heterogeneous", even), looks_like("block", even)
    (True, False)
    """
    found = rulers(pooled(made))
    image = torch.from_numpy(as_image(made, CELLS))[None]
    block = float(contrasts(image, torch.tensor([is_causal(pooled(made))])).max())
    if pattern == "block":
        strong = np.nanmax(found.diagonals) >= 0.4
        return block >= (BLOCK_WITH_LINE if strong else BLOCK)
    return _BY_RULERS[found.marks] == pattern and block <= MOST_BLOCK[pattern]
