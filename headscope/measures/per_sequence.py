"""Averages over a sequence's rows, and the tidy table of their mean over sequences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from torch import Tensor

from headscope.measures.measure import Total
from headscope.stats import mean_interval
from headscope.values import Moments


def mean_weights(rows: Bool[Tensor, "batch query"]) -> Float[Tensor, "batch query"]:
    """Weights that make a weighted sum over rows their mean; NaN where there is no such row.

    >>> mean_weights(torch.tensor([[True, True, False], [False, False, False]]))
    tensor([[0.5000, 0.5000, 0.0000],
            [   nan,    nan,    nan]])
    """
    chosen = rows.to(torch.float32)
    return chosen / chosen.sum(dim=1, keepdim=True)


def moments_of(samples: Float[Tensor, "batch ..."]) -> Moments:
    """Moments over the sequences of a batch, in float64; this is where torch ends."""
    return Moments.of(samples.detach().to("cpu", torch.float64).numpy(), axis=0)


def head_table(
    total: Total, labels: Sequence[str], *, label: str, mean: str = "mean"
) -> Mapping[str, Any]:
    """Moments of shape [head, label] per layer as a tidy table with 95 % intervals.

    Labels that no sequence of the corpus had are absent from the table.
    """
    columns: dict[str, list[NDArray[Any]]] = {
        name: [] for name in ("stack", "layer", "head", label, mean, "ci_low", "ci_high", "n")
    }
    names = np.array(labels)
    for place, moments in total.of(Moments):
        low, high = mean_interval(moments.mean, moments.std, moments.n)
        heads, chosen = np.nonzero(np.broadcast_to(moments.n.any(axis=0), moments.shape))
        parts = {
            "stack": np.full(heads.shape, place.stack),
            "layer": np.full(heads.shape, place.layer),
            "head": heads,
            label: names[chosen],
            mean: moments.mean[heads, chosen],
            "ci_low": low[heads, chosen],
            "ci_high": high[heads, chosen],
            "n": moments.n[heads, chosen],
        }
        for name, part in parts.items():
            columns[name].append(part)
    return {name: np.concatenate(parts) if parts else [] for name, parts in columns.items()}
