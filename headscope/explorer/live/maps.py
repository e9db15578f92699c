"""What is sent of a pass: rows of one head's map in float16, small pictures in 16 shades."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.errors import UsageError
from headscope.explorer.live.passes import Pass
from headscope.types import HeadId, Stack

#: Cells of a small picture, along each side.
SMALL = 32


def rows_of(
    found: Pass, head: HeadId, first: int = 0, last: int | None = None
) -> tuple[bytes, dict[str, Any]]:
    """Rows `first` up to and without `last` of a head's map, little-endian float16."""
    layers = found.maps.get(head.stack, ())
    if not 0 <= head.layer < len(layers) or not 0 <= head.head < len(layers[head.layer]):
        raise UsageError(f"no head {head}")
    pattern = layers[head.layer][head.head]
    last = len(pattern) if last is None else min(last, len(pattern))
    if not 0 <= first <= last:
        raise UsageError(f"no rows {first} to {last}")
    told = {"queries": pattern.shape[0], "keys": pattern.shape[1], "first": first, "last": last}
    return np.ascontiguousarray(pattern[first:last], dtype="<f2").tobytes(), told


def small_pictures(
    found: Pass, stack: Stack, layer: int, size: int = SMALL
) -> tuple[bytes, dict[str, Any]]:
    """All heads of a layer as small pictures in 16 shades, 15 · √weight, two cells to a byte."""
    layers = found.maps.get(stack, ())
    if not 0 <= layer < len(layers):
        raise UsageError(f"no layer {layer + 1} in {stack}")
    cells = shrunk(layers[layer].astype(np.float32), size)
    n_heads, rows, columns = cells.shape
    shades = np.rint(15 * np.sqrt(np.clip(cells, 0.0, 1.0))).astype(np.uint8).ravel()
    pairs = np.append(shades, np.zeros(len(shades) % 2, np.uint8)).reshape(-1, 2)
    packed = pairs[:, 0] << 4 | pairs[:, 1]
    return packed.tobytes(), {"heads": n_heads, "rows": rows, "columns": columns}


def shrunk(maps: NDArray[np.float32], size: int) -> NDArray[np.float32]:
    """Maps as at most `size` × `size` cells: mean over a cell's rows, sum over its columns.

    >>> shrunk(np.eye(4, dtype=np.float32)[None], 2).tolist()
    [[[1.0, 0.0], [0.0, 1.0]]]
    >>> shrunk(np.ones((1, 2, 2), np.float32), 4).shape
    (1, 2, 2)
    """
    rows, columns = (_shared(n, size) for n in maps.shape[1:])
    rows = rows / rows.sum(axis=1, keepdims=True)
    return np.asarray(rows @ maps @ columns.T, dtype=np.float32)


def _shared(n: int, size: int) -> NDArray[np.float32]:
    """[cell, token]: how much of a token lies in a cell; each token its own cell if they fit."""
    if n <= size:
        return np.eye(n, dtype=np.float32)
    edges = np.arange(size + 1) * (n / size)
    token = np.arange(n)
    shared = np.minimum(token + 1, edges[1:, None]) - np.maximum(token, edges[:-1, None])
    return np.asarray(np.clip(shared, 0.0, None), dtype=np.float32)
