"""A part of an ablation as work for any engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headscope.ablations import Ablation, Sweep
from headscope.engine.executor import Advance, Packed
from headscope.models import LoadedModel
from headscope.tasks import Prepared, Task
from headscope.types import HeadId


@dataclass(frozen=True)
class SweepPart:
    """Some examples, and the heads that are switched off for them."""

    prepared: Sequence[Prepared]
    ablations: Sequence[Ablation]
    standing: frozenset[HeadId] = frozenset()


@dataclass(eq=False)
class SweepJob:
    """Examples in, the answers without and with every ablation out.

    The sweep, which holds on to the model's layers, is made by whoever runs the job, once.
    """

    model: LoadedModel
    task: Task
    how: str
    options: Mapping[str, Any]
    _sweep: Sweep | None = field(default=None, init=False, repr=False)

    @property
    def sweep(self) -> Sweep:
        if self._sweep is None:
            self._sweep = Sweep(self.model, self.task, self.how, **self.options)
        return self._sweep

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_sweep": None}

    def run(self, work: SweepPart, advance: Advance) -> Packed:
        baseline, values = self.sweep.answers(
            work.prepared,
            work.ablations,
            standing=work.standing,
            advance=lambda n: advance(n, 0),
        )
        return {"baseline": baseline, "values": values}, {"fast": self.sweep.fast}
