"""Logistic regression for many heads, penalties and label sets at once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from headscope.probes.hessian_bound import make_bound
from headscope.probes.rotation import Rotated, rotate

#: About this many logits are alive at a time: few enough to stay near the processor, enough to be
#: worth a call: six classes want more than two do, and this is good for both.
_CHUNK = 1 << 19
_MEMORY = 10


@dataclass(frozen=True, eq=False)
class Problems:
    """Several problems ("slots") on the same features: what each is to learn, and how strictly.

    `labels[slot, row]` are classes; `l2[set, slot]` is the penalty. With `widths`, slot s sees only
    the first `widths[s]` features.
    """

    labels: Int[Tensor, "slot row"]
    l2: Float[Tensor, "set slot"]
    n_classes: int
    widths: Int[Tensor, " slot"] | None = None

    @property
    def n_logits(self) -> int:
        """Two classes need one logit."""
        return 1 if self.n_classes == 2 else self.n_classes


@dataclass(frozen=True, eq=False)
class Fitted:
    """Trained probes: weights on the features less their centre, and intercepts there.

    Heads' outputs often lie far from 0 and vary little: without the centre, rounding would decide.
    """

    weights: Float[Tensor, "set slot logit d"]
    intercepts: Float[Tensor, "set slot logit"]
    centre: Float[Tensor, "set d"]
    n_steps: int
    converged: bool

    def logits(self, features: Float[Tensor, "set d row"]) -> Float[Tensor, "set slot logit row"]:
        n_sets, n_slots, n_logits, _ = self.weights.shape
        found = self.weights.flatten(1, 2) @ (features - self.centre[:, :, None])
        return found.view(n_sets, n_slots, n_logits, -1) + self.intercepts[..., None]

    def predict(self, features: Float[Tensor, "set d row"]) -> Int[Tensor, "set slot row"]:
        """The most probable class; of equals the first."""
        logits = self.logits(features)
        if logits.shape[2] == 1:
            return (logits[:, :, 0] > 0).long()
        return logits.argmax(dim=2)


def fit_logistic(
    features: Float[Tensor, "set d row"] | Rotated,
    problems: Problems,
    *,
    tolerance: float = 1e-8,
    max_steps: int = 300,
) -> Fitted:
    """Train every slot on every set of features.

        minimise   1/n Σᵢ −ln p(yᵢ | xᵢ) + l2/2 · ‖W‖²        (the intercept is free)

    with p the logistic function for two classes and the softmax over one weight vector per class
    for more. It is scikit-learn's objective at C = 1 / (l2 · n), and, but for the intercept,
    SentEval's weight decay. All sets go through the same batched matrix products; a set's
    features are read once for all its slots.

    Method: L-BFGS (Nocedal & Wright 2006, algorithm 7.4). b · covariance + l2, with b = ¼ (½ for a
    softmax), bounds the Hessian (Böhning 1992, §2) and is the first guess of it: a diagonal on
    principal axes; where slots see prefixes of the features, a Cholesky factor whose leading
    blocks serve all prefixes. The loss is convex and its logits are linear in a step, so a step is
    judged by the slope at its end alone: not past the minimum, or only a little. A problem is done
    when ½ gᵀM⁻¹g, the gain in nats that the bound M still promises, is below `tolerance` times what
    it promised at first (strict problems gain little, and need it just as exact); it then stands
    still while others go on, and slots of which all are done are laid aside.

    >>> x = torch.tensor([[[-2.0, -1.0, 1.0, 2.0]]])
    >>> y = torch.tensor([[0, 0, 1, 1]])
    >>> fitted = fit_logistic(x, Problems(y, torch.tensor([[0.01]]), 2))
    >>> fitted.predict(x)[0, 0].tolist()
    [0, 0, 1, 1]
    """
    turned = features if isinstance(features, Rotated) else rotate(features)
    if turned.axes is None and problems.widths is None and turned.n_sets == 1:
        # too wide to be turned: all features are a prefix too
        whole = torch.full((len(problems.labels),), turned.centre.shape[1])
        problems = replace(problems, widths=whole)
    n_alive = turned.n_rows * len(problems.labels) * problems.n_logits
    each = max(1, _CHUNK // max(1, n_alive))
    parts = [
        _Descent(
            turned.features[start : start + each],
            turned.variance[start : start + each],
            problems,
            problems.l2[start : start + each],
        ).run(tolerance, max_steps)
        for start in range(0, turned.n_sets, each)
    ]
    theta = torch.cat([part.theta for part in parts])
    weights, intercepts = theta[..., :-1], theta[..., -1]
    if turned.axes is not None:
        weights = weights @ turned.axes[:, None].mT
    return Fitted(
        weights,
        intercepts,
        turned.centre,
        max(part.n_steps for part in parts),
        all(bool(part.done.all()) for part in parts),
    )


class _Descent:
    """One chunk of sets on its way down.

    Rows lie innermost: with few slots the products are thin, and this is how they run fast.
    """

    def __init__(
        self,
        features: Float[Tensor, "set d_and_one row"],
        variance: Float[Tensor, "set d"],
        problems: Problems,
        l2: Float[Tensor, "set slot"],
    ) -> None:
        self.x = features
        n_sets, width, n_rows = features.shape
        n_slots, n_logits = len(problems.labels), problems.n_logits
        if n_logits == 1:
            self.gold = problems.labels[:, None].to(features.dtype)
        else:
            one_hot = functional.one_hot(problems.labels, problems.n_classes)
            self.gold = one_hot.mT.to(features.dtype).contiguous()
        self.all_gold = self.gold
        # the intercept is a feature that is always 1, and free
        self.l2 = l2[:, :, None, None].repeat(1, 1, 1, width)
        self.l2[..., -1] = 0.0
        self.bound = make_bound(
            features, variance, self.l2, 0.25 if n_logits == 1 else 0.5, problems.widths
        )
        self.now = features.new_zeros(n_sets, n_slots, n_logits, width)
        self.logits = features.new_zeros(n_sets, n_slots, n_logits, n_rows)
        self.done = torch.zeros(n_sets, n_slots, 1, 1, dtype=torch.bool, device=features.device)
        #: The answer, and which slots `now` is still about.
        self.theta = torch.zeros_like(self.now)
        self.slots = torch.arange(n_slots, device=features.device)
        self.n_steps = 0

    def run(self, tolerance: float, max_steps: int) -> _Descent:
        gradient = self._gradient(self.logits, self.now)
        scaled = self.bound.divide(gradient)
        history: list[_Memory] = []
        enough = (tolerance * _dot(gradient, scaled)).clamp(min=1e-14)
        while self.n_steps < max_steps:
            self.done |= _dot(gradient, scaled) <= enough
            if bool(self.done.all()):
                break
            left = ~self.done.all(dim=0).flatten()
            if int(left.sum()) <= 0.75 * len(left):
                gradient, scaled, enough = (t[:, left] for t in (gradient, scaled, enough))
                history = [tuple(part[:, left] for part in memory) for memory in history]
                self._lay_aside(left)
            self.n_steps += 1
            step = _direction(gradient, scaled, history) * ~self.done
            moved, after = self._advance(step, gradient)
            scaled_after = self.bound.divide(after)
            turned, scaled_turned = after - gradient, scaled_after - scaled
            product = _dot(moved, turned)
            # a problem that stands still remembers nothing, and stays as it is
            inverse = torch.where(product > 0, 1.0 / product.clamp(min=1e-30), 0.0)
            history = [*history[1 - _MEMORY :], (moved, turned, scaled_turned, inverse)]
            gradient, scaled = after, scaled_after
        self.theta[:, self.slots] = self.now
        self._polish()
        return self

    def _polish(self) -> None:
        """One Newton step of the intercepts in double precision.

        Where a head's output hardly varies, logits are tiny and the intercept decides; float32
        knows the mean of p − y to eight digits after the point only.
        """
        weights = self.theta[..., :-1].flatten(1, 2)
        logits = (weights @ self.x[:, :-1]).view(*self.theta.shape[:3], -1).double()
        logits += self.theta[..., -1:].double()
        p = torch.sigmoid(logits) if logits.shape[2] == 1 else torch.softmax(logits, dim=2)
        slope = (p - self.all_gold).mean(dim=3)
        curvature = (p * (1 - p)).mean(dim=3).clamp(min=1e-6)
        self.theta[..., -1] -= (slope / curvature).to(self.theta.dtype)

    def _lay_aside(self, left: Tensor) -> None:
        """Keep the answers so far, and go on with the slots that are left."""
        self.theta[:, self.slots] = self.now
        self.slots = self.slots[left]
        self.gold, self.l2 = self.gold[left], self.l2[:, left]
        self.now, self.logits, self.done = (
            self.now[:, left],
            self.logits[:, left],
            self.done[:, left],
        )
        self.bound = self.bound.of_slots(left)

    def _gradient(self, logits: Tensor, theta: Tensor) -> Tensor:
        """1/n Σ (p − y) x + l2 w, for all sets and slots with one batched product."""
        p = torch.sigmoid(logits) if logits.shape[2] == 1 else torch.softmax(logits, dim=2)
        residual = p.sub_(self.gold).mul_(1.0 / max(1, self.x.shape[2]))
        product = residual.flatten(1, 2) @ self.x.mT
        return self.bound.masked(product.view_as(theta) + self.l2 * theta)

    def _advance(self, step: Tensor, gradient: Tensor) -> tuple[Tensor, Tensor]:
        """Go along `step` as far as is good for each problem; the way gone and the new gradient."""
        change = (step.flatten(1, 2) @ self.x).view_as(self.logits)
        slope = _dot(gradient, step)
        length = torch.ones_like(slope)
        logits, theta = self.logits + change, self.now + step
        after = self._gradient(logits, theta)
        for _ in range(12):
            end = _dot(after, step)
            # past the minimum by more than a little: the secant says where it lies
            over = end > -0.3 * slope
            if not bool(over.any()):
                break
            shorter = length * (slope / (slope - end)).clamp(0.1, 0.9)
            length = torch.where(over, shorter, length)
            logits, theta = self.logits + change * length, self.now + step * length
            after = self._gradient(logits, theta)
        moved, self.logits, self.now = theta - self.now, logits, theta
        return moved, after


#: A step, how the gradient changed on it, the same divided by the bound, and 1 / (step · change).
_Memory: TypeAlias = tuple[Tensor, ...]


def _direction(gradient: Tensor, scaled: Tensor, history: list[_Memory]) -> Tensor:
    """The two loops of L-BFGS; everything divided by the bound is kept, so that it is done once."""
    q, r, alphas = gradient, scaled, []
    for moved, turned, scaled_turned, inverse in reversed(history):
        alphas.append(inverse * _dot(moved, q))
        q, r = q - alphas[-1] * turned, r - alphas[-1] * scaled_turned
    if history:
        _, turned, scaled_turned, inverse = history[-1]
        scale = 1.0 / (inverse * _dot(turned, scaled_turned)).clamp(min=1e-30)
        r = r * torch.where(inverse > 0, scale, 1.0)
    for (moved, turned, _, inverse), alpha in zip(history, reversed(alphas), strict=True):
        r = r + moved * (alpha - inverse * _dot(turned, r))
    return -r


def _dot(a: Tensor, b: Tensor) -> Tensor:
    """The scalar product of every problem, ready to multiply."""
    return (a * b).sum(dim=(2, 3), keepdim=True)
