"""Which heads a run has, and its tables read only once."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

from headscope.errors import UsageError
from headscope.figures.registered import RunLike
from headscope.types import STACKS, HeadId, Stack


@dataclass(frozen=True)
class ReadOnce:
    """A run whose tables are kept once they were read: many figures ask for the same ones."""

    run: RunLike
    _known: dict[str, Any] = field(default_factory=dict)

    @property
    def record(self) -> Any:
        return self.run.record

    @property
    def tables(self) -> Collection[str]:
        return self.run.tables

    def table(self, name: str) -> Any:
        if name not in self._known:
            self._known[name] = self.run.table(name)
        return self._known[name]


@dataclass(frozen=True, slots=True)
class StackShape:
    """How many layers and heads a stack has."""

    stack: Stack
    n_layers: int
    n_heads: int


def plain_record(run: RunLike) -> dict[str, Any]:
    """The record as JSON gives it, whether it is a pydantic model or already plain."""
    dump = getattr(run.record, "model_dump", None)
    plain: dict[str, Any] = dump(mode="json") if dump else dict(run.record or {})
    return plain


def shapes_of(run: RunLike) -> list[StackShape]:
    """The stacks the run's record names, in the order people know them."""
    stacks = plain_record(run).get("model", {}).get("stacks", ())
    found = {s["stack"]: StackShape(s["stack"], s["n_layers"], s["n_heads"]) for s in stacks}
    return [found[name] for name in STACKS if name in found]


def heads_of(shapes: Iterable[StackShape]) -> list[HeadId]:
    """Every head, stack by stack and layer by layer."""
    return [
        HeadId(layer, head, shape.stack)
        for shape in shapes
        for layer in range(shape.n_layers)
        for head in range(shape.n_heads)
    ]


def head_named(run: RunLike, layer: int | str | HeadId, head: int | None = None) -> HeadId:
    """A head of the run as people say it, counted from 1: (3, 1), "3-1" or "cross:3-1".

    A `HeadId` is taken as it is. A head the model does not have is a `UsageError` that says which
    it has.
    """
    if isinstance(layer, HeadId):
        found = layer
    elif isinstance(layer, str):
        found = HeadId.parse(layer)
    else:
        found = HeadId.parse(f"{layer}-{head}")
    shapes = shapes_of(run)
    if isinstance(layer, int) and shapes and shapes[0].stack != "self":
        found = HeadId(found.layer, found.head, shapes[0].stack)
    if found not in heads_of(shapes):
        first = [str(HeadId(0, 0, s.stack)) for s in shapes]
        last = [str(HeadId(s.n_layers - 1, s.n_heads - 1, s.stack)) for s in shapes]
        known = ", ".join(f"{a} to {b}" for a, b in zip(first, last, strict=True)) or "none"
        raise UsageError(f"the model has no head {found}; it has: {known}")
    return found
