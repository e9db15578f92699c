"""How alike two models' attention maps are."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor


def map_cosine(
    one: Float[Tensor, "batch head query key"],
    other: Float[Tensor, "batch head query key"],
    queries: Bool[Tensor, "batch query"],
    keys: Bool[Tensor, "batch key"],
) -> Float[Tensor, "batch head"]:
    """The cosine of two maps as flat vectors, over real queries and keys alone.

        cos = Σ_qk a[q, k] · b[q, k] / √(Σ a² · Σ b²)

    All three sums are taken in the same way in float64, and √(x · x) is x, so that equal maps give
    exactly 1. Weights are never negative, hence 0 ≤ cos ≤ 1, and any two maps of few tokens are
    alike to some degree: read it beside a random twin's. Rows that are all on [SEP] in both models
    make it high whatever the rest does.

    Source: Kovaleva et al. 2019, §4.3, "Change in self-attention patterns after fine-tuning".
    Departure: their code pads maps to 200 tokens, which raises the figure; here they are cropped
    to the sequence.

    >>> a = torch.tensor([[[[1.0, 0.0], [0.5, 0.5]]]])
    >>> b = torch.tensor([[[[0.0, 1.0], [0.5, 0.5]]]])
    >>> real = torch.tensor([[True, True]])
    >>> map_cosine(a, a, real, real).item(), round(map_cosine(a, b, real, real).item(), 4)
    (1.0, 0.3333)
    """
    outside = ~(queries[:, None, :, None] & keys[:, None, None, :])
    # filled, not multiplied: rows of padding may hold anything
    a, b = one.masked_fill(outside, 0.0), other.masked_fill(outside, 0.0)

    def dot(x: Tensor, y: Tensor) -> Tensor:
        return (x * y).sum(dim=(-2, -1), dtype=torch.float64)

    return dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
