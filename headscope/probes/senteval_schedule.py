"""The reference protocol: minibatch RMSProp as SentEval trains, for all heads at once."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from headscope.probes.logistic import Fitted


@dataclass(frozen=True, slots=True)
class Schedule:
    """Jo & Myaeng's settings (2020, appendix A.2)."""

    learning_rate: float = 0.1
    batch_size: int = 256
    tenacity: int = 3
    max_epochs: int = 200
    #: RMSProp's memory and what keeps it from dividing by 0, as torch has them.
    alpha: float = 0.99
    epsilon: float = 1e-8


def fit_by_schedule(
    features: Float[Tensor, "set d row"],
    labels: Int[Tensor, "slot row"],
    held_out: tuple[Float[Tensor, "set d row"], Int[Tensor, "slot row"]],
    l2: Float[Tensor, "set slot"],
    n_classes: int,
    *,
    schedule: Schedule | None = None,
    seed: int = 0,
) -> Fitted:
    """Train a softmax per set and slot; keep each one's weights of its best epoch.

        v ← α v + (1 − α) g²,   θ ← θ − η g / (√v + ε),   g = ∂/∂θ mean batch loss + l2 · θ

    l2 decays the intercept too, as torch's weight decay does. After every epoch each problem is
    scored on its held-out rows, and it stops once `tenacity` epochs in a row brought no gain; all
    see the same batches in the same order, which the seed decides. Source: Conneau & Kiela
    (2018); Jo & Myaeng (2020), appendix A.2. `code:` SentEval counts epochs without gain in all,
    not in a row.
    """
    schedule = schedule or Schedule()
    n_sets, width, n_rows = features.shape
    shape = (n_sets, len(labels), n_classes, width + 1)
    random = torch.Generator().manual_seed(seed)
    x = functional.pad(features, (0, 0, 0, 1), value=1.0)
    gold = functional.one_hot(labels, n_classes).mT.to(x.dtype)  # slot, class, row
    # a linear layer of torch begins within ±1/√d
    first = 2 * torch.rand(shape, generator=random) - 1
    theta = first.to(x) / width**0.5
    decay = l2[:, :, None, None]
    nowhere = x.new_zeros(n_sets, width)
    square, best = torch.zeros_like(theta), theta
    best_score = x.new_full(shape[:2], -1.0)
    idle = torch.zeros(shape[:2], dtype=torch.long, device=x.device)
    n_epochs = 0
    while n_epochs < schedule.max_epochs and bool((idle < schedule.tenacity).any()):
        n_epochs += 1
        order = torch.randperm(n_rows, generator=random)
        for rows in torch.split(order, schedule.batch_size):
            batch = x[:, :, rows]
            logits = (theta.flatten(1, 2) @ batch).view(*shape[:3], -1)
            residual = torch.softmax(logits, dim=2) - gold[:, :, rows]
            product = (residual.flatten(1, 2) @ batch.mT).view(shape)
            gradient = product / len(rows) + decay * theta
            square = schedule.alpha * square + (1 - schedule.alpha) * gradient.square()
            theta = theta - schedule.learning_rate * gradient / (square.sqrt() + schedule.epsilon)
        now = Fitted(theta[..., :-1], theta[..., -1], nowhere, n_epochs, True)
        score = (now.predict(held_out[0]) == held_out[1]).float().mean(dim=-1)
        running = idle < schedule.tenacity
        better = (score > best_score) & running
        best = torch.where(better[:, :, None, None], theta, best)
        best_score = torch.where(better, score, best_score)
        idle = torch.where(better, 0, idle + running)
    return Fitted(best[..., :-1], best[..., -1], nowhere, n_epochs, True)
