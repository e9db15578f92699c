"""Scores of all roles from the few weights that their sieves let through, on the processor.

A sieve names a handful of a token's keys, so of all pairs of tokens and roles nearly all count
nothing: only those that do are kept, and read in the order in which they lie in memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from headscope.models.compiled import compiled, in_parts


@dataclass(frozen=True, eq=False)
class SparseSieves:
    """What weighs something: for sequence b the entries `starts[b]` up to `starts[b + 1]`."""

    starts: NDArray[np.int64]
    pairs: NDArray[np.int64]
    roles: NDArray[np.int64]
    weights: NDArray[np.float32]
    n_roles: int

    @classmethod
    def of(cls, weights: Float[Tensor, "batch pair role"]) -> SparseSieves:
        """The entries of a dense table that are not 0."""
        batch, pair, role = weights.nonzero(as_tuple=True)
        starts = np.searchsorted(batch.numpy(), np.arange(len(weights) + 1))
        found = weights[batch, pair, role].numpy()
        return cls(starts, pair.numpy(), role.numpy(), found, weights.shape[2])


def sieve_scores(
    pattern: NDArray[np.float32], sieves: SparseSieves, n_threads: int
) -> NDArray[np.float32]:
    """score[batch, head, role] = Σ over pairs of weight[pair, role] · pattern[head, pair].

    >>> import torch
    >>> weights = torch.tensor([[[0.0], [2.0], [0.0], [1.0]]])
    >>> pattern = np.array([[[[0.5, 0.5], [0.25, 0.75]]]], np.float32)
    >>> sieve_scores(pattern, SparseSieves.of(weights), 1).tolist()
    [[[1.75]]]
    """
    n_batch, n_heads = pattern.shape[:2]
    flat = np.ascontiguousarray(pattern, np.float32).reshape(n_batch, n_heads, -1)
    out = np.zeros((n_batch, n_heads, sieves.n_roles))
    parts = (sieves.starts, sieves.pairs, sieves.roles, sieves.weights)

    def part(first: int, last: int) -> None:
        _scores(flat, *parts, out, first, last)

    in_parts(part, n_batch * n_heads, n_threads)
    return out.astype(np.float32)


@compiled
def _scores(
    flat: Any, starts: Any, pairs: Any, roles: Any, weights: Any, out: Any, first: int, last: int
) -> None:
    n_heads = flat.shape[1]
    for task in range(first, last):
        batch, head = task // n_heads, task % n_heads
        mine, into = flat[batch, head], out[batch, head]
        for i in range(starts[batch], starts[batch + 1]):
            into[roles[i]] += weights[i] * mine[pairs[i]]
