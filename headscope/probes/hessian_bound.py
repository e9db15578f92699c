"""A bound of the Hessian of a logistic loss, ready to divide by."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

_SMALLEST = 1e-12


class Bound(Protocol):
    """b · covariance + l2 of every set and slot."""

    def divide(self, gradient: Float[Tensor, "set slot logit d"]) -> Tensor:
        """The bound's inverse times a gradient."""

    def masked(self, gradient: Float[Tensor, "set slot logit d"]) -> Tensor:
        """The gradient without features that a slot does not see."""

    def of_slots(self, left: Tensor) -> Bound:
        """The same for some of the slots."""


def make_bound(
    features: Float[Tensor, "set d row"],
    variance: Float[Tensor, "set d_without_one"],
    l2: Float[Tensor, "set slot 1 d"],
    factor: float,
    widths: Int[Tensor, " slot"] | None,
) -> Bound:
    """A diagonal where features lie on their principal axes; a factor where slots see prefixes."""
    if widths is None:
        spread = functional.pad(variance, (0, 1), value=1.0)[:, None, None]
        return _Diagonal((factor * spread + l2).clamp(min=_SMALLEST))
    covariance = features[0] @ features[0].T / features.shape[2]
    grid = l2[0, :, 0, 0]
    values = grid.new_tensor(sorted(set(grid.tolist())))
    which = torch.searchsorted(values, grid.contiguous())
    n = covariance.shape[0]
    penalty = values[:, None] * functional.pad(values.new_ones(n - 1), (0, 1))
    tiny = 1e-6 * covariance.diagonal().mean()
    left = factor * covariance + torch.diag_embed(penalty + tiny)
    # the intercept goes first: a prefix with the intercept is then a leading block
    order = torch.cat([torch.tensor([n - 1]), torch.arange(n - 1)])
    factors = torch.linalg.cholesky(left[:, order][:, :, order])
    seen = torch.arange(n, device=features.device) < widths[:, None]
    seen[:, -1] = True
    return _Prefixes(factors, which, seen, order)


@dataclass(frozen=True, eq=False)
class _Diagonal:
    bound: Tensor

    def divide(self, gradient: Tensor) -> Tensor:
        return gradient / self.bound

    def masked(self, gradient: Tensor) -> Tensor:
        return gradient

    def of_slots(self, left: Tensor) -> _Diagonal:
        return _Diagonal(self.bound[:, left])


@dataclass(frozen=True, eq=False)
class _Prefixes:
    """One Cholesky factor per penalty: the leading block of L is the factor of the leading block.

    So L y = g, cut to the prefix, then Lᵀ x = y, gives the prefix's own solution.
    """

    factors: Float[Tensor, "value d d"]
    which: Int[Tensor, " slot"]
    seen: Tensor
    order: Tensor

    def divide(self, gradient: Tensor) -> Tensor:
        turned = gradient[0][..., self.order]
        seen = self.seen[:, self.order][:, None].to(gradient.dtype)
        found = torch.empty_like(turned)
        for value, factor in enumerate(self.factors):
            mine = self.which == value
            if not bool(mine.any()):
                continue
            n_slots, n_logits, width = turned[mine].shape
            right = turned[mine].reshape(-1, width).T
            half = torch.linalg.solve_triangular(factor, right, upper=False)
            half = half * seen[mine].expand(-1, n_logits, -1).reshape(-1, width).T
            whole = torch.linalg.solve_triangular(factor.T, half, upper=True)
            found[mine] = whole.T.reshape(n_slots, n_logits, width)
        back = torch.empty_like(found)
        back[..., self.order] = found
        return back[None]

    def masked(self, gradient: Tensor) -> Tensor:
        return gradient * self.seen[None, :, None]

    def of_slots(self, left: Tensor) -> _Prefixes:
        return replace(self, which=self.which[left], seen=self.seen[left])
