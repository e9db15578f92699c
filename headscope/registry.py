"""One registry for everything people add: measures, readers, edits, figures.

A registry is a dict filled by a decorator. The built-in units of a registry are the modules of
one package: importing them registers them, so adding a unit is adding one file. Units of other
distributions come in through entry points of the same name.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.metadata
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from typing import Generic, TypeVar

from headscope.errors import UsageError

T = TypeVar("T")


class Registry(Mapping[str, T], Generic[T]):
    """Named units of one kind.

    >>> greetings: Registry[str] = Registry("greeting")
    >>> _ = greetings.register("hello")("Hello!")
    >>> greetings["hello"]
    'Hello!'
    """

    def __init__(self, kind: str, package: str | None = None) -> None:
        self.kind = kind
        self._package = package
        self._units: dict[str, T] = {}
        self._loaded = package is None

    def register(self, name: str) -> Callable[[T], T]:
        """Decorator: make a unit known by `name`; a name can be taken only once."""

        def add(unit: T) -> T:
            if name in self._units and not _same_definition(self._units[name], unit):
                raise UsageError(f"a {self.kind} named {name!r} exists already")
            self._units[name] = unit
            return unit

        return add

    def _load(self) -> None:
        if self._loaded or self._package is None:
            return
        self._loaded = True
        package = importlib.import_module(self._package)
        for module in sorted(m.name for m in pkgutil.iter_modules(package.__path__)):
            importlib.import_module(f"{self._package}.{module}")
        for entry in importlib.metadata.entry_points(group=self._package):
            entry.load()

    def __getitem__(self, name: str) -> T:
        self._load()
        try:
            return self._units[name]
        except KeyError:
            close = difflib.get_close_matches(name, self._units, n=1)
            hint = f" (did you mean {close[0]!r}?)" if close else ""
            known = ", ".join(sorted(self._units))
            raise UsageError(f"unknown {self.kind} {name!r}{hint}; known: {known}") from None

    def __contains__(self, name: object) -> bool:
        self._load()
        return name in self._units

    def __iter__(self) -> Iterator[str]:
        self._load()
        return iter(sorted(self._units))

    def __len__(self) -> int:
        self._load()
        return len(self._units)


def _same_definition(old: object, new: object) -> bool:
    """A module imported twice (a notebook's reload) may register its units again."""
    return (getattr(old, "__module__", None), getattr(old, "__qualname__", None)) == (
        getattr(new, "__module__", ""),
        getattr(new, "__qualname__", ""),
    )
