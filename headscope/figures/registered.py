"""The seam: figures by name, and which of them a run can have."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from headscope.errors import UsageError
from headscope.figures.picture import Picture
from headscope.registry import Registry


class RunLike(Protocol):
    """What figures need of a run; `headscope.store.Run` has it."""

    @property
    def record(self) -> Any:
        """What was asked and how it went (`run.json`)."""

    @property
    def tables(self) -> Collection[str]:
        """The names of the run's tables."""

    def table(self, name: str) -> Any:
        """A table by name, as a `pyarrow.Table`."""


Draw: TypeAlias = Callable[[RunLike], Picture]


@dataclass(frozen=True)
class Figure:
    """A named way to draw something from certain tables; `order` is its place in the report."""

    name: str
    tables: tuple[str, ...]
    order: int
    draw: Draw

    def __post_init__(self) -> None:
        # The registry knows a unit that is registered again (a reload) by where it was defined.
        for name in ("__module__", "__qualname__", "__doc__"):
            object.__setattr__(self, name, getattr(self.draw, name))

    def fits(self, run: RunLike) -> bool:
        """True if the run has the tables, and rows in them."""
        return all(name in run.tables and run.table(name).num_rows for name in self.tables)


FIGURES: Registry[Figure] = Registry("figure", "headscope.figures.gallery")


def figure(name: str, *, tables: tuple[str, ...], order: int) -> Callable[[Draw], Draw]:
    """Decorator: make a function from a run to a picture known as a figure."""

    def add(function: Draw) -> Draw:
        FIGURES.register(name)(Figure(name, tables, order, function))
        return function

    return add


def available(run: RunLike) -> list[Figure]:
    """The figures whose tables the run has, in the order of the report."""
    fitting = (unit for unit in FIGURES.values() if unit.fits(run))
    return sorted(fitting, key=lambda unit: (unit.order, unit.name))


def draw(run: RunLike, name: str) -> Picture:
    """One figure of a run; an unknown name or a missing table is a `UsageError`."""
    unit = FIGURES[name]
    if not unit.fits(run):
        missing = [t for t in unit.tables if t not in run.tables]
        lacks = f"lacks the table {', '.join(missing)}" if missing else "has no rows for it"
        can = ", ".join(other.name for other in available(run)) or "none"
        raise UsageError(f"the run {lacks}: no figure {name!r}; figures it can have: {can}")
    return unit.draw(run)
