"""Several runs about the same heads, read as one."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from headscope.errors import UsageError
from headscope.figures.atlas.run_heads import shapes_of
from headscope.figures.registered import RunLike


@dataclass(frozen=True)
class JoinedRuns:
    """The tables of all runs; where several have one, the first run's counts.

    For what is known of a head from different sides: roles from a corpus, ablations from a task,
    probes from sentences. The runs must be of models of one shape; that they are of one model is
    for the user to know, since fine-tuning makes another of it.
    """

    runs: tuple[RunLike, ...]

    @classmethod
    def of(cls, runs: Sequence[RunLike]) -> JoinedRuns:
        shapes = [shapes_of(run) for run in runs]
        for run, shape in zip(runs[1:], shapes[1:], strict=True):
            if shape != shapes[0]:
                name = getattr(run.record.model, "name", "a run")
                raise UsageError(
                    f"{name} has other layers and heads than {runs[0].record.model.name}; "
                    "only runs about the same heads can be joined"
                )
        return cls(tuple(runs))

    @property
    def record(self) -> Any:
        return self.runs[0].record

    @property
    def tables(self) -> Collection[str]:
        return tuple(sorted({name for run in self.runs for name in run.tables}))

    def table(self, name: str) -> Any:
        for run in self.runs:
            if name in run.tables:
                return run.table(name)
        raise UsageError(f"none of the runs has a table {name!r}")
