"""Maps of values as one flat dict of arrays and a description, for checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from headscope.values.value import VALUES, Arrays, Value


def pack(values: Mapping[str, Value]) -> tuple[Arrays, dict[str, Any]]:
    """Values by name as arrays, and a JSON-able description from which `unpack` rebuilds them.

    Arrays are numbered by the value they belong to (`0.n`, `0.m2`, `1.total` …), so any string
    can be a name.

    >>> from headscope.values import Sum
    >>> arrays, description = pack({"surface/self/3": Sum([1.0])})
    >>> sorted(arrays), description
    (['0.total'], {'values': [['surface/self/3', 'sum']]})
    >>> unpack(arrays, description)["surface/self/3"].total.tolist()
    [1.0]
    """
    arrays: Arrays = {}
    listed: list[list[str]] = []
    for index, (name, value) in enumerate(values.items()):
        if VALUES[value.kind] is not type(value):
            raise ValueError(f"{type(value).__name__} is not the value registered as {value.kind}")
        listed.append([name, value.kind])
        for part, array in value.to_arrays().items():
            arrays[f"{index}.{part}"] = array
    return arrays, {"values": listed}


def unpack(arrays: Mapping[str, NDArray[Any]], description: Mapping[str, Any]) -> dict[str, Value]:
    """The values that `pack` was given, in their order, bit for bit."""
    parts: dict[str, Arrays] = {}
    for key, array in arrays.items():
        index, _, part = key.partition(".")
        parts.setdefault(index, {})[part] = array
    return {
        name: VALUES[kind].from_arrays(parts.get(str(index), {}))
        for index, (name, kind) in enumerate(description["values"])
    }
