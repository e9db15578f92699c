"""Features turned to their principal axes, where every linear probe is easy to train."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

#: Sets with more features than this and more rows than that are only centred: turning them would
#: cost too much.
MAX_TURNED, MAX_ROWS = 1400, 1000
#: About this many numbers are turned at a time, to stay near the processor.
_CHUNK = 1 << 19


@dataclass(frozen=True, eq=False)
class Rotated:
    """Centred features on their principal axes, with the variance along each axis.

    The last feature is 1 in every row: its weight is the intercept. `axes` leads back: weights w
    on these features are axes @ w on the features as they came. There are as many axes as features,
    or as rows if those are fewer. `axes` is None where the features were only centred.
    """

    features: Float[Tensor, "set axis_and_one row"]
    variance: Float[Tensor, "set axis"]
    centre: Float[Tensor, "set d"]
    axes: Float[Tensor, "set d axis"] | None

    @property
    def n_sets(self) -> int:
        return self.features.shape[0]

    @property
    def n_rows(self) -> int:
        return self.features.shape[2]


def rotate(features: Float[Tensor, "set d row"]) -> Rotated:
    """Centre every set and turn it to the eigenvectors of its covariance.

    A rotation Q changes no probe: ‖Qw‖ = ‖w‖, so the L2 penalty is the same, and the intercept
    takes up the centre. But the Hessian of a logistic loss is near a multiple of the covariance,
    which is diagonal here: dividing by its diagonal is nearly Newton's step, for every penalty at
    once.

    >>> turned = rotate(torch.tensor([[[1.0, -1.0, 2.0, -2.0], [1.0, -1.0, 2.0, -2.0]]]))
    >>> [round(v, 4) + 0.0 for v in turned.variance[0].tolist()]      # all of it along (1, 1)
    [0.0, 5.0]
    """
    n_sets, width, n_rows = features.shape
    if width > MAX_TURNED:
        return _by_rows(features) if n_rows <= MAX_ROWS else centred(features)
    whole = features.new_empty(n_sets, width + 1, n_rows)
    whole[:, -1] = 1.0
    centre, variance = features.new_empty(2, n_sets, width)
    axes = features.new_empty(n_sets, width, width)
    each = max(1, _CHUNK // max(1, width * n_rows))
    for start in range(0, n_sets, each):
        some = slice(start, start + each)
        centre[some] = features[some].mean(dim=2)
        moved = features[some] - centre[some, :, None]
        variance[some], axes[some] = _principal(moved @ moved.mT / max(n_rows, 1))
        whole[some, :-1] = axes[some].mT @ moved
    return Rotated(whole, variance.clamp(min=0.0), centre, axes)


def _by_rows(features: Float[Tensor, "set d row"]) -> Rotated:
    """The same axes by way of the rows' scalar products, where there are fewer rows than features.

    With XᵀX/n = V diag(v) Vᵀ the axes are X V / √(n v), and on them X becomes √(n v) Vᵀ. Directions
    without spread are left out: no row has anything there.
    """
    n_rows = features.shape[2]
    centre = features.mean(dim=2)
    moved = features - centre[:, :, None]
    variance, vectors = _principal(moved.mT @ moved / n_rows)
    variance = variance.clamp(min=0.0)
    known = variance > 1e-7 * variance.amax(dim=1, keepdim=True)
    length = (n_rows * variance).sqrt()
    axes = moved @ (vectors * torch.where(known, 1.0 / length.clamp(min=1e-30), 0.0)[:, None])
    turned = vectors.mT * torch.where(known, length, 0.0)[:, :, None]
    whole = torch.cat([turned, torch.ones_like(turned[:, :1])], dim=1)
    return Rotated(whole, torch.where(known, variance, 0.0), centre, axes)


def _principal(covariance: Float[Tensor, "set d d"]) -> tuple[Tensor, Tensor]:
    """Eigenvalues and eigenvectors; sets without spread keep their axes.

    In double precision: where features hardly vary, float32 has nothing left to turn by.
    """
    exact = covariance.double()
    size = exact.diagonal(dim1=1, dim2=2).mean(dim=1)[:, None, None]
    flat = size <= 1e-20
    unit = torch.eye(exact.shape[1], dtype=exact.dtype, device=exact.device)
    variance, axes = torch.linalg.eigh(torch.where(flat, unit, exact / size.clamp(min=1e-20)))
    variance = variance * size[:, :, 0]
    axes = torch.where(flat, unit, axes)
    return variance.to(covariance.dtype), axes.to(covariance.dtype)


def centred(features: Float[Tensor, "set d row"]) -> Rotated:
    """Centre every set and leave its axes as they are: for probes that see prefixes of them."""
    n_sets, width, n_rows = features.shape
    whole = features.new_ones(n_sets, width + 1, n_rows)
    centre = features.mean(dim=2)
    torch.sub(features, centre[:, :, None], out=whole[:, :-1])
    return Rotated(whole, whole[:, :-1].square().mean(dim=2), centre, None)
