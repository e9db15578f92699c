"""Rows of attention that are no distribution: not finite, or of a token that may see nothing.

They come from weights or activations that overflow, and from masks that leave a row empty. A mean
that takes one in is not a number any more, and a maximum is wrong without a sign: so they are found
before any measure sees them.
"""

from __future__ import annotations

import math
from dataclasses import replace

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headscope.models.view import View


def is_distribution(
    pattern: Float[Tensor, "batch head query key"], allowed: Bool[Tensor, "batch 1 query key"]
) -> Bool[Tensor, "batch head query"]:
    """Whether a row's sum is finite and above 0, and its token may see any key at all.

    One sum per row finds NaN and inf wherever they are. Rows that sum to something other than 1
    are fine: some families let a part of the attention go nowhere.

    >>> rows = torch.tensor([[0.5, 0.5], [float("nan"), 1.0], [float("inf"), 0.0], [0.0, 0.0]])
    >>> is_distribution(rows[None, None], torch.ones(1, 1, 4, 2, dtype=torch.bool))[0, 0].tolist()
    [True, False, False, False]
    """
    total = pattern.sum(dim=-1)
    fine = (total > 0) & (total < math.inf)  # NaN is neither
    if allowed.stride(-1) == 0 and allowed.stride(-2) == 0:  # no mask: every key may be seen
        return fine
    return fine & allowed.any(dim=-1)


def broken_heads(view: View) -> tuple[View, Bool[Tensor, "batch head"] | None]:
    """Which heads of which sequences have a broken row; None where all is well, as nearly always.

    Rows of padding are nobody's: where one of them is broken it becomes 0 in the view that comes
    back, so that 0 · NaN cannot spoil a sum.
    """
    fine = is_distribution(view.pattern, view.allowed)
    if bool(fine.all()):
        return view, None
    real = view.queries.real[:, None, :]
    broken = (real & ~fine).any(dim=-1)
    if bool(broken.any()):
        return view, broken
    pattern = view.pattern.masked_fill(~fine[..., None], 0.0)
    return replace(view, pattern=pattern, z=torch.nan_to_num(view.z, 0.0, 0.0, 0.0)), None
