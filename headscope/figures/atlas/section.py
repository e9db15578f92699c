"""The seam: sections of a head's passport by name, and which of them a run can have.

A section is one file in `headscope/figures/passport/` with one decorated function::

    @section("entropy", title="How focused it is", tables=("entropy",), order=50)
    def entropy(run: RunLike) -> Rows: ...

It reads the run's tables once and gives every head its rows. A section whose tables a run lacks
is left out; so is a head that has no rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from headscope.figures.atlas.row import Row
from headscope.figures.registered import RunLike
from headscope.registry import Registry
from headscope.types import HeadId

#: What a section says about every head.
Rows: TypeAlias = Mapping[HeadId, Sequence[Row]]
Tell: TypeAlias = Callable[[RunLike], Rows]
#: A list of lines, or a profile: columns side by side in the order of the rows.
Layout: TypeAlias = Literal["lines", "profile"]


@dataclass(frozen=True)
class Section:
    """A titled part of the passport; lower `order` comes first.

    `comparable` says that a label stands in every head's rows, so that heads can be sorted and
    shaded by it; or which labels do.
    """

    name: str
    title: str
    tables: tuple[str, ...]
    order: int
    tell: Tell
    note: str = ""
    layout: Layout = "lines"
    comparable: bool | tuple[str, ...] = True

    def __post_init__(self) -> None:
        # The registry knows a unit that is registered again (a reload) by where it was defined.
        for name in ("__module__", "__qualname__", "__doc__"):
            object.__setattr__(self, name, getattr(self.tell, name))

    def fits(self, run: RunLike) -> bool:
        """True if the run has the tables, and rows in them."""
        return all(name in run.tables and run.table(name).num_rows for name in self.tables)

    def describe(self) -> dict[str, Any]:
        """What the page needs to know besides the rows."""
        return {
            "name": self.name,
            "title": self.title,
            "note": self.note,
            "layout": self.layout,
            "comparable": self.comparable,
        }


PASSPORT: Registry[Section] = Registry("passport section", "headscope.figures.passport")


def section(
    name: str,
    *,
    title: str,
    tables: tuple[str, ...],
    order: int,
    note: str = "",
    layout: Layout = "lines",
    comparable: bool | tuple[str, ...] = True,
) -> Callable[[Tell], Tell]:
    """Decorator: make a function from a run to rows per head known as a section."""

    def add(function: Tell) -> Tell:
        unit = Section(name, title, tables, order, function, note, layout, comparable)
        PASSPORT.register(name)(unit)
        return function

    return add


def sections_of(run: RunLike) -> list[Section]:
    """The sections whose tables the run has, in the order of the passport."""
    fitting = (unit for unit in PASSPORT.values() if unit.fits(run))
    return sorted(fitting, key=lambda unit: (unit.order, unit.name))
