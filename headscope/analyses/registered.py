"""The seam: analyses by name, and which of them a run can have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from headscope.registry import Registry
from headscope.store import Run

#: Reads a finished run and adds what it found to it.
Analyse: TypeAlias = Callable[[Run], None]


@dataclass(frozen=True)
class Analysis:
    """A named way to find something in certain tables; lower `order` runs earlier."""

    name: str
    tables: tuple[str, ...]
    order: int
    analyse: Analyse

    def __post_init__(self) -> None:
        # The registry knows a unit that is registered again (a reload) by where it was defined.
        for name in ("__module__", "__qualname__", "__doc__"):
            object.__setattr__(self, name, getattr(self.analyse, name))

    def fits(self, run: Run) -> bool:
        """True if the run has the tables, and rows in them."""
        return all(name in run.tables and run.table(name).num_rows for name in self.tables)


ANALYSES: Registry[Analysis] = Registry("analysis", "headscope.analyses")


def analysis(
    name: str, *, tables: tuple[str, ...], order: int = 50
) -> Callable[[Analyse], Analyse]:
    """Decorator: run a function on every finished run that has the tables."""

    def add(function: Analyse) -> Analyse:
        ANALYSES.register(name)(Analysis(name, tables, order, function))
        return function

    return add


def run_analyses(run: Run) -> list[str]:
    """Run every analysis whose tables the run has, with its defaults; the names of those that ran.

    One analysis may read what an earlier one added, so each is asked when its turn comes.
    """
    done = []
    for unit in sorted(ANALYSES.values(), key=lambda unit: (unit.order, unit.name)):
        if unit.fits(run):
            unit.analyse(run)
            done.append(unit.name)
    return done
