"""Every registered unit, of whatever kind, can be found, named and read about."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest

from headscope.corpora import READERS
from headscope.errors import UsageError
from headscope.figures import FIGURES, PASSPORT
from headscope.measures import MEASURES
from headscope.models import EDITS
from headscope.registry import Registry
from headscope.tasks import TASKS
from headscope.values import VALUES

REGISTRIES: dict[str, Registry[Any]] = {
    r.kind: r for r in (READERS, FIGURES, PASSPORT, MEASURES, EDITS, TASKS, VALUES)
}
UNITS = [(kind, name) for kind, registry in REGISTRIES.items() for name in registry]


@pytest.mark.parametrize(("kind", "name"), UNITS)
def test_units_are_named_and_documented(kind: str, name: str) -> None:
    unit = REGISTRIES[kind][name]
    assert re.fullmatch(r"[a-z][a-z0-9_]*", name)
    told = inspect.getdoc(getattr(unit, "draw", unit)) or inspect.getdoc(inspect.getmodule(unit))
    assert told, f"{kind} {name} says nothing about itself"


@pytest.mark.parametrize("kind", REGISTRIES)
def test_a_wrong_name_gets_the_right_ones(kind: str) -> None:
    registry = REGISTRIES[kind]
    known = next(iter(registry))
    with pytest.raises(UsageError, match=rf"unknown {kind} .*did you mean '{known}'"):
        registry[known + "x"]


def test_a_name_can_be_taken_only_once() -> None:
    registry: Registry[type] = Registry("thing")
    registry.register("one")(int)
    registry.register("one")(int)
    with pytest.raises(UsageError, match="exists already"):
        registry.register("one")(str)
