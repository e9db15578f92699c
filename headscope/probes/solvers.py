"""How probes are trained, behind one face: fast, by SentEval's schedule, or for numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from jaxtyping import Float
from torch import Tensor

from headscope.probes.logistic import Problems, fit_logistic
from headscope.probes.ridge import fit_ridge
from headscope.probes.rotation import Rotated
from headscope.probes.senteval_schedule import Schedule, fit_by_schedule


class Trained(Protocol):
    """Probes that have learnt: one per set of features and slot."""

    def predict(self, features: Float[Tensor, "set d row"], /) -> Tensor:
        """Classes or numbers, [set, slot, row]."""


@dataclass(frozen=True, eq=False)
class Lesson:
    """What there is to learn: gold labels per slot, and those of the rows held out."""

    gold: Tensor
    held_out: Tensor
    n_classes: int


class Solver(Protocol):
    """Trains every slot of a lesson on every set of features."""

    #: Whether slots may see prefixes of the features.
    takes_widths: bool

    def __call__(
        self,
        train: Float[Tensor, "set d row"] | Rotated,
        held_out: Float[Tensor, "set d row"],
        lesson: Lesson,
        l2: Float[Tensor, "set slot"],
        widths: Tensor | None = None,
        /,
    ) -> Trained:
        """The probes, trained."""


class Fast:
    """Full-batch L-BFGS on principal axes; exact, so no epochs to stop early."""

    takes_widths = True

    def __call__(
        self,
        train: Tensor | Rotated,
        held_out: Tensor,
        lesson: Lesson,
        l2: Tensor,
        widths: Tensor | None = None,
        /,
    ) -> Trained:
        problems = Problems(lesson.gold, l2, lesson.n_classes, widths)
        # wide prefixes are many and slow: a tenth of a point at most is left to gain
        return fit_logistic(train, problems, tolerance=1e-8 if widths is None else 1e-6)


class Ridge:
    """Closed form, for numbers."""

    takes_widths = True

    def __call__(
        self,
        train: Tensor | Rotated,
        held_out: Tensor,
        lesson: Lesson,
        l2: Tensor,
        widths: Tensor | None = None,
        /,
    ) -> Trained:
        return fit_ridge(train, lesson.gold, l2, widths)


@dataclass(frozen=True)
class BySchedule:
    """SentEval's schedule, the reference protocol."""

    schedule: Schedule
    seed: int = 0
    takes_widths = False

    def __call__(
        self,
        train: Tensor | Rotated,
        held_out: Tensor,
        lesson: Lesson,
        l2: Tensor,
        widths: Tensor | None = None,
        /,
    ) -> Trained:
        if isinstance(train, Rotated) or widths is not None:
            raise TypeError("the schedule takes plain features")
        return fit_by_schedule(
            train,
            lesson.gold,
            (held_out, lesson.held_out),
            l2,
            lesson.n_classes,
            schedule=self.schedule,
            seed=self.seed,
        )
