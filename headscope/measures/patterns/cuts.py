"""Where a map falls apart into squares: how much brighter pairs inside them are than across."""

from __future__ import annotations

from functools import cache
from typing import Final

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headscope.measures.patterns.rulers import brightness

#: Rows and columns of the image in which squares are looked for.
CELLS: Final = 32
#: Before which rows the map is cut in two: not too near to its ends.
CUTS: Final = range(9, 24)


def contrasts(
    images: Float[Tensor, "map row cell"], causal: Bool[Tensor, " map"]
) -> Float[Tensor, "map cut"]:
    """For every cut into two: the brightness of pairs on one side less that of pairs across.

    The difference is taken distance by distance, neighbours left out, and then its mean: a band
    along the diagonal is as bright across a cut as beside it. The first column is left out; most
    maps have one.

    >>> squares = torch.block_diag(torch.ones(16, 16), torch.ones(16, 16))[None] / 16
    >>> found = contrasts(squares, torch.tensor([False]))
    >>> CUTS[int(found.argmax())], round(found.max().item(), 3)
    (16, 1.0)
    """
    bright = brightness(images, torch.full((len(images),), CELLS, device=images.device))
    full, below = (_weights(one).to(images.device) for one in (False, True))
    flat = bright.flatten(1)
    return torch.where(causal[:, None], flat @ below.T, flat @ full.T)


@cache
def _weights(causal: bool) -> Float[Tensor, "cut cells"]:
    """One row of weights per cut: inside minus across, the mean over distances."""
    token = torch.arange(CELLS)
    before = token[:, None] - token
    counted = (before > 0 if causal else before != 0) & (token > 0)
    found = []
    for cut in CUTS:
        same = (token[:, None] >= cut) == (token >= cut)
        parts = []
        for distance in range(4, min(cut, CELLS - cut) + 6):
            pairs = counted & (before.abs() == distance)
            inside, across = pairs & same, pairs & ~same
            if inside.sum() > 3 and across.sum() > 3:
                parts.append(inside / inside.sum() - across / across.sum())
        found.append(torch.stack(parts).mean(dim=0).flatten())
    return torch.stack(found)
