"""How much the loss depends on a head, from one backward pass."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from torch import Tensor

from headscope.measures.measure import MEASURES, GradientMeasure, Total
from headscope.measures.per_sequence import moments_of
from headscope.models import EDITS, Site, View
from headscope.stats import mean_interval
from headscope.types import Result
from headscope.values import Moments

#: The edits whose effect on the loss is estimated.
ESTIMATED = ("zero", "uniform", "mean", "intra", "inter")


def first_order(
    gradient: Float[Tensor, "batch head query key"],
    change: Float[Tensor, "batch head query key"],
    rows: Bool[Tensor, "batch query"],
) -> Float[Tensor, "batch head"]:
    """Σ over real rows and all keys of ∂L/∂pattern · change: the loss's change, to first order."""
    products = (gradient * change).sum(dim=-1)
    return products.masked_fill(~rows[:, None], 0.0).sum(dim=-1)


@MEASURES.register("importance")
class HeadImportance(GradientMeasure):
    """How much the loss would change if a head's output were scaled up or down a little.

    With a gate ξ = 1 on the head's output z, and L the loss of one sequence,

        score = mean over sequences of |∂L/∂ξ|,   ∂L/∂ξ = Σ_{q,k} pattern[q, k] · ∂L/∂pattern[q, k]

    (z is linear in the pattern, so the sum is the same as over z · ∂L/∂z). The absolute value is
    taken per sequence: a head that helps one sequence and harms another matters twice.
    `score_layer` divides by the root of the sum of squares of the layer's heads, as Michel et al.
    did.

    The table `importance_estimate` has, for every edit, the first-order estimate of what it does
    to the loss, Σ (edited pattern − pattern) · ∂L/∂pattern, with its sign: positive where switching
    the head off would hurt. It is exact only for small changes, and switching a head off is none:
    set it beside a measured ablation before believing it.

    L is the model's own language-model loss (see `gradient`), or the loss of a task with
    `headscope importance MODEL --task …`. Scores of different losses, or models, do not compare.

    Source: Michel, Levy & Neubig 2019, §4.1, equation 2. Departures: per sequence, where their code
    takes the absolute value per batch; the gate multiplies z before the output projection, which is
    the same.

    >>> pattern = torch.tensor([[[[0.5, 0.5]]]])
    >>> gradient = torch.tensor([[[[1.0, 3.0]]]])
    >>> first_order(gradient, pattern, torch.tensor([[True]]))
    tensor([[2.]])
    """

    name: ClassVar[str] = "importance"
    tables: ClassVar[tuple[str, ...]] = ("importance", "importance_estimate")

    def observe(self, view: View) -> Moments:
        rows = view.queries.real
        gate = first_order(view.gradient, view.pattern, rows)
        site = Site(view.stack, view.layer, view.allowed, rows, view.batch)
        estimates = [gate.abs(), -gate]
        for name in ESTIMATED[1:]:
            if name in ("intra", "inter") and view.stack == "cross":
                estimates.append(torch.full_like(gate, torch.nan))
                continue
            edited = EDITS[name]().change(view.pattern.detach(), site)
            estimates.append(first_order(view.gradient, edited - view.pattern.detach(), rows))
        return moments_of(torch.stack(estimates, dim=-1))

    def finish(self, total: Total) -> Result:
        return Result(
            {
                "importance": importance_table(total),
                "importance_estimate": estimate_table(total),
            }
        )


def importance_table(total: Total) -> dict[str, NDArray[Any]]:
    """The score of every head, plain and divided by its layer's norm."""
    parts = []
    for place, moments in total.of(Moments):
        low, high = mean_interval(moments.mean, moments.std, moments.n)
        score = moments.mean[:, 0]
        norm = float(np.sqrt(np.sum(score**2)))
        heads = np.arange(len(score))
        parts.append(
            {
                "stack": np.full(heads.shape, place.stack),
                "layer": np.full(heads.shape, place.layer),
                "head": heads,
                "score": score,
                "ci_low": low[:, 0],
                "ci_high": high[:, 0],
                "score_layer": score / norm if norm > 0 else np.full(heads.shape, np.nan),
                "n": moments.n[:, 0],
            }
        )
    return _joined(parts)


def estimate_table(total: Total) -> dict[str, NDArray[Any]]:
    """The first-order estimate of what every edit of every head does to the loss."""
    parts = []
    for place, moments in total.of(Moments):
        low, high = mean_interval(moments.mean, moments.std, moments.n)
        heads = np.arange(moments.shape[0])
        for column, name in enumerate(ESTIMATED, 1):
            parts.append(
                {
                    "stack": np.full(heads.shape, place.stack),
                    "layer": np.full(heads.shape, place.layer),
                    "head": heads,
                    "edit": np.full(heads.shape, name),
                    "delta_loss": moments.mean[:, column],
                    "ci_low": low[:, column],
                    "ci_high": high[:, column],
                    "n": moments.n[:, column],
                }
            )
    return _joined(parts)


def _joined(parts: list[dict[str, Any]]) -> dict[str, NDArray[Any]]:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
