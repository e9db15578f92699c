"""Ridge regression for many heads, penalties and targets at once, in closed form."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headscope.probes.rotation import Rotated, rotate


@dataclass(frozen=True, eq=False)
class FittedLine:
    """Weights and an intercept per set and slot."""

    weights: Float[Tensor, "set slot d"]
    intercepts: Float[Tensor, "set slot"]

    def predict(self, features: Float[Tensor, "set d row"]) -> Float[Tensor, "set slot row"]:
        return self.weights @ features + self.intercepts[:, :, None]


def fit_ridge(
    features: Float[Tensor, "set d row"] | Rotated,
    targets: Float[Tensor, "slot row"],
    l2: Float[Tensor, "set slot"],
    widths: Int[Tensor, " slot"] | None = None,
) -> FittedLine:
    """Train every slot on every set of features.

        minimise   1/2n Σᵢ (yᵢ − w·xᵢ − b)² + l2/2 · ‖w‖²        (the intercept b is free)

    It is scikit-learn's Ridge at alpha = l2 · n. With `widths`, slot s sees only the first
    `widths[s]` features (of one set). On principal axes the normal equations are diagonal, one
    division per penalty; otherwise they are solved by Cholesky in double precision.

    >>> x = torch.tensor([[[0.0, 1.0, 2.0]]])
    >>> line = fit_ridge(x, torch.tensor([[1.0, 3.0, 5.0]]), torch.zeros(1, 1))
    >>> round(float(line.weights), 4), round(float(line.intercepts), 4)
    (2.0, 1.0)
    """
    turned = features if isinstance(features, Rotated) else rotate(features)
    x, n_rows = turned.features[:, :-1], turned.n_rows
    mean = targets.mean(dim=1)
    right = (targets - mean[:, None]) @ x.mT / n_rows
    if turned.axes is not None and widths is None:
        # features whose variance is rounding are no features
        least = 1e-7 * turned.variance.amax(dim=1, keepdim=True)[:, None]
        known = turned.variance[:, None] > least
        found = torch.where(known, right / (turned.variance[:, None] + l2[:, :, None]), 0.0)
        weights = found @ turned.axes.mT
    else:
        weights = _by_prefix(x[0] @ x[0].T / n_rows, right[0], l2[0], widths)[None]
    offsets = mean - (weights * turned.centre[:, None]).sum(dim=-1)
    return FittedLine(weights, offsets)


def _by_prefix(
    gram: Float[Tensor, "d d"],
    right: Float[Tensor, "slot d"],
    l2: Float[Tensor, " slot"],
    widths: Int[Tensor, " slot"] | None,
) -> Float[Tensor, "slot d"]:
    """One Cholesky factor per penalty; its leading blocks are those of the prefixes."""
    n = len(gram)
    seen = torch.ones_like(right, dtype=torch.bool)
    if widths is not None:
        seen = torch.arange(n, device=gram.device) < widths[:, None]
    whole, found = gram.double(), torch.zeros_like(right)
    floor = 1e-9 * whole.diagonal().mean()
    for value in sorted(set(l2.tolist())):
        mine = l2 == value
        left = whole + torch.diag(torch.full((n,), value + float(floor), dtype=whole.dtype))
        factor = torch.linalg.cholesky(left)
        half = torch.linalg.solve_triangular(factor, right[mine].double().T, upper=False)
        solved = torch.linalg.solve_triangular(factor.T, half * seen[mine].T, upper=True)
        found[mine] = solved.T.to(found.dtype)
    return found
