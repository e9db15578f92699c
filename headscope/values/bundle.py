"""Several values under names, added part by part."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from headscope.values.pack import pack, unpack
from headscope.values.value import VALUES, Arrays, Value


@VALUES.register("bundle")
class Bundle(Value, Mapping[str, Value]):
    """Named parts; a part that one side lacks counts as empty there.

    Names may differ between shards (the relations a shard happens to contain), so the sum has
    the names of both, in sorted order: (A + B)[name] = A[name] + B[name] where both have it.
    Parts of one name must be of one type and shape. Parts may be bundles.

    >>> from headscope.values import Counts
    >>> a = Bundle({"nsubj": Counts(2, 3)}) + Bundle({"obj": Counts(1, 1), "nsubj": Counts(1, 1)})
    >>> {name: int(part.counts) for name, part in a.items()}
    {'nsubj': 3, 'obj': 1}
    """

    kind: ClassVar[str] = "bundle"
    __slots__ = ("_parts",)

    def __init__(self, parts: Mapping[str, Value]) -> None:
        self._parts = {name: parts[name] for name in sorted(parts)}

    def __getitem__(self, name: str) -> Value:
        return self._parts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    def __repr__(self) -> str:
        return f"Bundle({self._parts!r})"

    # Values compare by `identical`; a mapping's == would compare arrays element by element.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def part(self, name: str, type_: type[Any]) -> Any:
        """The part of that name, checked to be of the type the caller expects."""
        value = self._parts[name]
        if not isinstance(value, type_):
            raise TypeError(f"part {name!r} is a {type(value).__name__}, not a {type_.__name__}")
        return value

    def __add__(self, other: Self) -> Self:
        if not isinstance(other, type(self)):
            return NotImplemented
        parts = {**other._parts, **self._parts}
        for name in self._parts.keys() & other._parts.keys():
            mine, theirs = self._parts[name], other._parts[name]
            if type(mine) is not type(theirs):
                kinds = f"{type(mine).__name__} and {type(theirs).__name__}"
                raise ValueError(f"part {name!r}: cannot add {kinds}")
            try:
                parts[name] = mine + theirs
            except ValueError as error:
                raise ValueError(f"part {name!r}: {error}") from None
        return type(self)(parts)

    def empty_like(self) -> Self:
        return type(self)({name: part.empty_like() for name, part in self._parts.items()})

    def to_arrays(self) -> Arrays:
        arrays, description = pack(self._parts)
        text = json.dumps(description).encode()
        arrays["description"] = np.frombuffer(text, dtype=np.uint8).copy()
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        description = json.loads(arrays["description"].tobytes())
        return cls(unpack(arrays, description))
