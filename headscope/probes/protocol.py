"""The protocol of a probe: learn on train, choose on validation, be tested once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from headscope.errors import UsageError
from headscope.probes.probe_task import TEST, TRAIN, VALIDATION, ProbeTask
from headscope.probes.rotation import MAX_ROWS, centred
from headscope.probes.scores import scores
from headscope.probes.solvers import Lesson, Solver

Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Rounds:
    """Which rows are learnt from and which ones choose: one pair of parts, or one per fold."""

    pairs: tuple[tuple[Indices, Indices], ...]
    learn: Indices
    test: Indices

    @classmethod
    def of(cls, task: ProbeTask, folds: int | None, seed: int) -> Rounds:
        """The task's own validation part, or folds of train where it has none, or where asked.

        With folds, validation rows join train; every row is held out once, and the last probe
        learns from all of them (Jo & Myaeng 2020, appendix A.2: five folds).
        """
        train, held, test = (task.rows(part) for part in (TRAIN, VALIDATION, TEST))
        if folds is None and len(held) >= 2:
            return cls(((train, held),), train, test)
        learn = np.sort(np.concatenate([train, held]))
        n_folds = folds or 5
        if n_folds > len(learn) // 2:
            raise UsageError(f"{n_folds} folds of {len(learn)} rows of {task.name}: too many")
        place = np.random.default_rng(seed).permutation(len(learn)) % n_folds
        pairs = tuple((learn[place != k], learn[place == k]) for k in range(n_folds))
        return cls(pairs, learn, test)

    @property
    def is_folded(self) -> bool:
        return len(self.pairs) > 1


@dataclass(frozen=True, eq=False)
class Outcome:
    """What came of one set of features: scores, the penalty chosen, predictions on test."""

    validation: dict[str, float]
    l2: float
    predicted: NDArray[Any]
    #: Test scores, by the first metric, of probes that learnt from shuffled labels.
    controls: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True, eq=False)
class Protocol:
    """Everything that is the same for all heads of a task."""

    task: ProbeTask
    rounds: Rounds
    solver: Solver
    l2: tuple[float, ...]
    n_controls: int
    seed: int

    @property
    def n_classes(self) -> int:
        return len(self.task.classes)

    def _gold(self, rows: Indices) -> Tensor:
        return torch.from_numpy(
            self.task.gold[rows].astype(np.float32 if self.task.is_regression else np.int64)
        )

    def _lesson(self, learn: Indices, held: Indices, n_slots: int) -> Lesson:
        return Lesson(
            self._gold(learn).expand(n_slots, -1),
            self._gold(held).expand(n_slots, -1),
            self.n_classes,
        )

    # --- several sets of one width --------------------------------------------------------------

    def probe(
        self, features: Float[Tensor, "set d row"], *, controls: bool = True
    ) -> list[Outcome]:
        """Train, choose the penalty of every set on validation, predict the test rows."""
        n_sets, n_values = len(features), len(self.l2)
        grid = torch.tensor(self.l2).expand(n_sets, -1)
        held_scores: dict[str, list[NDArray[np.float64]]] = {m: [] for m in self.task.metrics}
        trained = None
        for learn, held in self.rounds.pairs:
            lesson = self._lesson(learn, held, n_values)
            outside = features[:, :, held]
            trained = self.solver(features[:, :, learn], outside, lesson, grid)
            said = trained.predict(outside).numpy()
            for metric, found in held_scores.items():
                found.append(scores(metric, said, self.task.gold[held]))
        validation = {m: np.mean(found, axis=0) for m, found in held_scores.items()}
        chosen = _best(validation[self.task.metrics[0]])
        picked = torch.tensor(self.l2)[chosen][:, None]
        inside, tested = features[:, :, self.rounds.learn], features[:, :, self.rounds.test]
        if self.rounds.is_folded or trained is None:
            last_held = self.rounds.pairs[-1][1]
            lesson = self._lesson(self.rounds.learn, last_held, 1)
            final = self.solver(inside, features[:, :, last_held], lesson, picked)
            predicted = final.predict(tested)[:, 0].numpy()
        else:
            every = trained.predict(tested)
            predicted = every[torch.arange(n_sets), torch.from_numpy(chosen)].numpy()
        shuffled = self._controls(features, picked, self.n_controls if controls else 0)
        return [
            Outcome(
                {m: float(validation[m][i, chosen[i]]) for m in validation},
                float(self.l2[chosen[i]]),
                predicted[i],
                shuffled[i],
            )
            for i in range(n_sets)
        ]

    def _controls(self, features: Tensor, picked: Tensor, n: int) -> NDArray[np.float64]:
        """Test scores of the same probes when the labels they learn from are shuffled."""
        if not n:
            return np.zeros((len(features), 0))
        learn, held = self.rounds.learn, self.rounds.pairs[-1][1]
        random = np.random.default_rng([self.seed, 1])
        lesson = Lesson(
            torch.stack([self._gold(random.permutation(learn)) for _ in range(n)]),
            torch.stack([self._gold(random.permutation(held)) for _ in range(n)]),
            self.n_classes,
        )
        trained = self.solver(
            features[:, :, learn],
            features[:, :, held],
            lesson,
            picked.expand(-1, n),
        )
        said = trained.predict(features[:, :, self.rounds.test]).numpy()
        return scores(self.task.metrics[0], said, self.task.gold[self.rounds.test])

    # --- prefixes of one wide set ---------------------------------------------------------------

    def probe_prefixes(
        self, features: Float[Tensor, "set d row"], counts: list[int], n_plain: int
    ) -> Iterator[tuple[int, Outcome]]:
        """The first n sets side by side, for every n in `counts`; controls for n = `n_plain`.

        All prefixes and penalties are slots of one batch where the solver can do that, and where
        the rows are not so few that each prefix alone is solved faster.
        """
        if not self.solver.takes_widths or len(self.rounds.learn) <= MAX_ROWS:
            for n in counts:
                outcome = self.probe(features[:n].flatten(0, 1)[None], controls=n == n_plain)[0]
                yield n, outcome
            return
        whole = features[: max(counts)].flatten(0, 1)[None]
        tested = whole[:, :, self.rounds.test]
        each = features.shape[1]
        slots = [(n, value) for n in counts for value in self.l2]
        widths = torch.tensor([n * each for n, _ in slots])
        grid = torch.tensor([[value for _, value in slots]])
        held_scores: dict[str, list[NDArray[np.float64]]] = {m: [] for m in self.task.metrics}
        every: NDArray[Any] | None = None
        for learn, held in self.rounds.pairs:
            train, outside = centred(whole[:, :, learn]), whole[:, :, held]
            lesson = self._lesson(learn, held, len(slots))
            trained = self.solver(train, outside, lesson, grid, widths)
            said = trained.predict(outside)[0].numpy()
            every = trained.predict(tested)[0].numpy()
            for metric, found in held_scores.items():
                found.append(scores(metric, said, self.task.gold[held]))
        shape = (len(counts), len(self.l2))
        validation = {m: np.mean(v, axis=0).reshape(shape) for m, v in held_scores.items()}
        chosen = _best(validation[self.task.metrics[0]])
        picked = [self.l2[i] for i in chosen]
        if self.rounds.is_folded or every is None:
            train = centred(whole[:, :, self.rounds.learn])
            lesson = self._lesson(self.rounds.learn, self.rounds.test, len(counts))
            narrow = torch.tensor([n * each for n in counts])
            final = self.solver(train, tested, lesson, torch.tensor([picked]), narrow)
            predicted = final.predict(tested)[0].numpy()
        else:
            rows = np.arange(len(counts)) * len(self.l2) + chosen
            predicted = every[rows]
        for i, n in enumerate(counts):
            controls = np.zeros(0)
            if n == n_plain:
                joined = features[:n].flatten(0, 1)[None]
                controls = self._controls(joined, torch.tensor([[picked[i]]]), self.n_controls)[0]
            told = {m: float(validation[m][i, chosen[i]]) for m in validation}
            yield n, Outcome(told, picked[i], predicted[i], controls)


def _best(validation: NDArray[np.float64]) -> NDArray[np.int64]:
    """The best penalty of every set; of equals the strictest, which stands last."""
    flipped = np.nan_to_num(validation, nan=-np.inf)[:, ::-1]
    return np.asarray(validation.shape[1] - 1 - flipped.argmax(axis=1), np.int64)
