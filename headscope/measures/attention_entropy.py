"""How widely heads spread their attention."""

from __future__ import annotations

from typing import ClassVar

import torch
from jaxtyping import Bool, Float
from pydantic import Field
from torch import Tensor

from headscope.measures.kernels.row_entropy import row_entropies
from headscope.measures.later import Later, moments_later
from headscope.measures.measure import MEASURES, LayerMeasure, Total
from headscope.measures.per_sequence import head_table, mean_weights
from headscope.models import View
from headscope.types import Result, TokenKind
from headscope.values import Moments

ROWS = ("all", "cls")


def entropy_nats(
    pattern: Float[Tensor, "batch head query key"],
) -> Float[Tensor, "batch head query"]:
    """−Σ_k a[k] · ln a[k] of every row, with 0 · ln 0 = 0."""
    if pattern.device.type == "cpu" and not pattern.requires_grad:
        return torch.from_numpy(row_entropies(pattern.numpy(), torch.get_num_threads()))
    plogp: Tensor = torch.special.entr(pattern)
    return plogp.sum(dim=-1)


def smoothed(
    pattern: Float[Tensor, "batch head query key"],
    real_keys: Bool[Tensor, "batch key"],
    smoothing: float,
) -> Float[Tensor, "batch head query key"]:
    """(1 − s) · a + s/n over a sequence's n real keys."""
    floor = smoothing * real_keys / real_keys.sum(dim=1, keepdim=True)
    return (1 - smoothing) * pattern + floor[:, None, None, :]


@MEASURES.register("entropy")
class AttentionEntropy(LayerMeasure):
    """The entropy of a head's attention rows, in nats.

        H(q) = −Σ_k pattern[q, k] · ln pattern[q, k]

    Mean over a sequence's rows (`all`) and of its `cls` row alone (`cls`), then the mean over
    sequences with a 95 % interval. 0 is a head that looks at one token at a time; ln n, for n
    tokens, one that looks at all alike. Entropy grows with sequence length, so compare heads on
    the same corpus, not corpora.

    Source: Clark et al. 2019, §3.3, Figure 4. Their released code smooths rows as
    0.9999 · a + 0.0001/n: set `smoothing` to 1e-4 for their numbers.

    >>> entropy_nats(torch.tensor([[[[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]]]])).round(decimals=4)
    tensor([[[0.6931, 0.0000]]])
    """

    name: ClassVar[str] = "entropy"
    tables: ClassVar[tuple[str, ...]] = ("entropy",)

    smoothing: float = Field(0.0, ge=0.0, lt=1.0, description="share of a uniform row mixed in")

    def look(self, view: View) -> Later[Moments]:
        pattern = view.pattern
        if self.smoothing:
            pattern = smoothed(pattern, view.keys.real, self.smoothing)
        queries = view.queries
        rows = view.once(
            "entropy/rows",
            lambda: torch.stack(
                [mean_weights(queries.real), mean_weights(queries.is_kind(TokenKind.CLS))], dim=-1
            ),
        )
        return moments_later(entropy_nats(pattern) @ rows)

    def finish(self, total: Total) -> Result:
        return Result({"entropy": head_table(total, ROWS, label="rows", mean="mean_nats")})
