"""Arrays as safetensors files: no pickle, and every bit checked where it matters."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

Arrays = dict[str, NDArray[Any]]

# One metadata entry only: safetensors keeps several in no fixed order, and equal data must give
# equal bytes.
_ENTRY = "headscope"


class DamagedError(Exception):
    """The bytes are not those that were written."""


def encode(arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, Any] | None = None) -> bytes:
    """Arrays, JSON metadata and a checksum over both as the bytes of a safetensors file."""
    # safetensors writes memory as it lies, so a transposed view would come back scrambled.
    plain = {name: _plain(name, array) for name, array in sorted(arrays.items())}
    text = json.dumps(metadata or {}, sort_keys=True, ensure_ascii=True, allow_nan=False)
    entry = json.dumps({"metadata": text, "sha256": _checksum(plain, text)})
    return save(plain, {_ENTRY: entry})


def decode(content: bytes) -> tuple[Arrays, dict[str, Any]]:
    """The arrays and metadata that `encode` was given; DamagedError if a single bit changed.

    >>> arrays, metadata = decode(encode({"a": np.arange(3)}, {"n": 1}))
    >>> arrays["a"].tolist(), metadata
    ([0, 1, 2], {'n': 1})
    """
    try:
        arrays = load(content)
        size = int.from_bytes(content[:8], "little")
        entry = json.loads(json.loads(content[8 : 8 + size])["__metadata__"][_ENTRY])
        text, expected = entry["metadata"], entry["sha256"]
        metadata: dict[str, Any] = json.loads(text)
    except (SafetensorError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise DamagedError(str(error)) from error
    if _checksum(arrays, text) != expected:
        raise DamagedError("the checksum does not match")
    return arrays, metadata


def _plain(name: str, array: NDArray[Any]) -> NDArray[Any]:
    array = np.asarray(array, order="C")
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise ValueError(f"array {name!r} has type {array.dtype}; expected numbers or booleans")
    return array.astype(array.dtype.newbyteorder("<"), copy=False)


def _checksum(arrays: Mapping[str, NDArray[Any]], text: str) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(json.dumps([name, array.dtype.str, array.shape]).encode())
        digest.update(array.tobytes())
    return digest.hexdigest()
