"""What a measure is: a frozen description with two methods.

`observe` turns one layer of one batch into a small value; values add; `finish` turns the sum into
tables. Nothing else: no state, no update. To add a measure, write one file in this folder.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from headscope.errors import UsageError
from headscope.measures.later import Later, arrived
from headscope.models import LanguageLoss, Layout, StackLayout, View
from headscope.registry import Registry
from headscope.types import Result, Stack
from headscope.values import Value

MEASURES: Registry[type[Measure]] = Registry("measure", "headscope.measures")

V = TypeVar("V", bound=Value)


#: The layer of a value that belongs to a whole stack.
ALL_LAYERS = -1


class Place(NamedTuple):
    """A layer of a stack, or all of them."""

    stack: Stack
    layer: int


@dataclass(frozen=True)
class Total:
    """The sum of a measure's values over the corpus, layer by layer."""

    layout: Layout
    values: Mapping[Place, Value]

    def of(self, kind: type[V]) -> Iterator[tuple[Place, V]]:
        """Every layer's value, in the order of the model, as values of one type."""
        for stack in self.layout.stacks:
            for layer in (*range(stack.n_layers), ALL_LAYERS):
                value = self.values.get(Place(stack.stack, layer))
                if value is None:
                    continue
                if not isinstance(value, kind):
                    raise TypeError(f"expected {kind.__name__}, found {type(value).__name__}")
                yield Place(stack.stack, layer), value


class Measure(BaseModel, ABC):
    """A quantity of heads. Its parameters are its fields; its docstring says what it means.

    `needs` names the annotations a sequence must carry (`pair`, `words`, `dependencies` …): the
    measure sees a corpus only if at least one sequence has them all, and is reported as skipped
    otherwise. `version` changes whenever the same input would give other numbers. A measure that
    is not `default` runs only if it is asked for.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: ClassVar[str]
    version: ClassVar[int] = 1
    needs: ClassVar[frozenset[str]] = frozenset()
    default: ClassVar[bool] = True
    tables: ClassVar[tuple[str, ...]]

    @abstractmethod
    def finish(self, total: Total) -> Result:
        """The corpus's sum as tables."""

    def applies_to(self, stack: StackLayout) -> bool:
        """Whether the measure makes sense for a stack."""
        return True

    def spec(self) -> dict[str, Any]:
        """What rebuilds the measure: name, version, parameters."""
        return {"name": self.name, "version": self.version, "parameters": self.model_dump()}


class LayerMeasure(Measure):
    """A measure that sees one layer of one batch at a time: almost every one.

    It says what it finds by `observe`; or by `look`, with the numbers still on the model's device,
    so that those of all measures come from a GPU together. Each is made of the other.
    """

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        if cls.observe is LayerMeasure.observe and cls.look is LayerMeasure.look:
            raise TypeError(f"{cls.__name__} has neither `observe` nor `look`")

    def observe(self, view: View) -> Value:
        """One layer of one batch as a value."""
        return arrived([self.look(view)])[0]

    def look(self, view: View) -> Value | Later[Any]:
        """One layer of one batch as what will be a value."""
        return self.observe(view)


class StackMeasure(Measure):
    """A measure that compares layers: it keeps a part of each, and sees all parts at the end.

    What `keep` returns lives until the last layer of a batch, so it should be small: maps of all
    layers would be as large as the model.
    """

    @abstractmethod
    def keep(self, view: View, stack: StackLayout) -> Any:
        """What is needed of one layer of one batch; `stack` says which others will be seen."""

    @abstractmethod
    def observe(self, kept: Sequence[Any]) -> Value:
        """What was kept of all layers of one stack over one batch, as a value."""


class GradientMeasure(Measure):
    """A measure that sees, layer by layer, the gradient of the model's own loss.

    The engine runs one more forward pass and a backward pass for it, with masked tokens where the
    model is a masked one, so that `view.gradient` is there. Measures with the same loss share it.
    """

    default: ClassVar[bool] = False

    masking: float = Field(0.15, gt=0.0, le=1.0, description="share of masked tokens (encoders)")
    seed: int = Field(0, ge=0, description="seed of the masking (encoders)")

    @property
    def loss(self) -> LanguageLoss:
        """The loss whose gradient the measure sees."""
        return LanguageLoss(self.masking, self.seed)

    @abstractmethod
    def observe(self, view: View) -> Value:
        """One layer of one batch as a value."""


def build(name: str, parameters: Mapping[str, Any] | None = None) -> Measure:
    """A measure by name; text values, as the command line gives them, are parsed.

    >>> build("entropy", {"smoothing": "1e-4"}).spec()["parameters"]
    {'smoothing': 0.0001}
    """
    kind = MEASURES[name]
    try:
        return kind(**(parameters or {}))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join([name, *map(str, first["loc"])])
        known = ", ".join(kind.model_fields) or "none"
        raise UsageError(
            f"--set {where}: {first['msg']} (found {first['input']!r}); parameters: {known}"
        ) from None


def rebuild(spec: Mapping[str, Any]) -> Measure:
    """The measure that a run's spec describes."""
    measure = build(spec["name"], spec.get("parameters"))
    if measure.version != spec.get("version", measure.version):
        raise UsageError(
            f"measure {measure.name!r} is version {measure.version} here, "
            f"version {spec['version']} in the run"
        )
    return measure
