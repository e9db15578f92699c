"""Maps of any length as images of one size, without padding and without losing mass."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

#: Rows and columns of the image the network sees.
SIZE = 48


def overlaps(
    lengths: Int[Tensor, " batch"], n_tokens: int, size: int = SIZE
) -> Float[Tensor, "batch size token"]:
    """How much of token t lies in cell c when n tokens are laid evenly over `size` cells.

    Token t covers [t, t + 1) · size/n; the entry is the share of the *token* that falls into the
    cell [c, c + 1), so every real token's column sums to 1 and every padding token's to 0.

    >>> overlaps(torch.tensor([2, 3]), 3, 2)
    tensor([[[1.0000, 0.0000, 0.0000],
             [0.0000, 1.0000, 0.0000]],
    <BLANKLINE>
            [[1.0000, 0.5000, 0.0000],
             [0.0000, 0.5000, 1.0000]]])
    """
    n = lengths.to(torch.float64)[:, None, None]
    token = torch.arange(n_tokens, dtype=torch.float64, device=lengths.device)
    cell = torch.arange(size, dtype=torch.float64, device=lengths.device)[:, None] * n / size
    shared = torch.minimum(token + 1, cell + n / size) - torch.maximum(token, cell)
    shared = shared.clamp(min=0.0) * (token < n)
    return shared.to(torch.float32)


def resampled(
    pattern: Float[Tensor, "batch head query key"],
    queries: Float[Tensor, "batch size query"],
    keys: Float[Tensor, "batch size key"],
) -> Float[Tensor, "batch head size size"]:
    """The mean over the rows of a cell, the sum over its columns: rows still sum to 1.

    `queries` and `keys` are `overlaps`: two matrix products crop every map of a batch to its own
    length and scale it, whatever the lengths are.

    >>> whole = overlaps(torch.tensor([4]), 4, 2)
    >>> resampled(torch.eye(4)[None, None], whole, whole)
    tensor([[[[1., 0.],
              [0., 1.]]]])
    """
    rows = queries / queries.sum(dim=2, keepdim=True).clamp_min(torch.finfo(torch.float32).tiny)
    return rows[:, None] @ pattern @ keys.mT[:, None]
