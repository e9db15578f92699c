"""How far columns and diagonals stand out from a map: the ruler beside the labeller's eye.

Without one, annotators with the same rule draw the line between a faint column and none where
each of them likes. The labelling page, the terminal and the network see the same numbers.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor

#: A column or a diagonal counts from here on, in parts of the brightness scale.
LIMIT: Final = 0.3
#: The share of the cells that are shown in the brightest colour.
_FULL: Final = 0.005


class Rulers(NamedTuple):
    """Brightness above the rest of the map, from 0 to 1; NaN where too few cells are seen.

    `columns[key]` for every key; `diagonals[i]` for the keys `offsets[i]` tokens after the query,
    only those near enough to belong to a diagonal.
    """

    columns: NDArray[np.float32]
    offsets: NDArray[np.int64]
    diagonals: NDArray[np.float32]

    def __str__(self) -> str:
        """In words, keys counted from 1."""
        keys = ", ".join(str(key + 1) for key in self.marked_columns)
        lines = ", ".join(f"{offset:+d}" if offset else "0" for offset in self.marked_offsets)
        columns = f"columns that stand out: {keys}" if keys else "no column stands out"
        return f"{columns}; diagonals: {lines}" if lines else f"{columns}; no diagonal does"

    @property
    def marks(self) -> tuple[bool, bool]:
        """Whether some column stands out, and whether some diagonal does."""
        return self.marked_columns.size > 0, self.marked_offsets.size > 0

    @property
    def marked_columns(self) -> NDArray[np.int64]:
        return np.flatnonzero(self.columns >= LIMIT)

    @property
    def marked_offsets(self) -> NDArray[np.int64]:
        return np.asarray(self.offsets[self.diagonals >= LIMIT])


def rulers(pattern: NDArray[Any]) -> Rulers:
    """The rulers of one map.

    >>> lone = np.zeros((8, 8)); lone[:, 2] = 1
    >>> print(rulers(lone))
    columns that stand out: 3; no diagonal does
    >>> print(rulers(np.eye(8)))
    no column stands out; diagonals: 0
    """
    n = len(pattern)
    one = torch.from_numpy(np.ascontiguousarray(pattern, np.float32))[None]
    columns, diagonals = measured(one, torch.tensor([n]))
    widest = max(2, n // 8)
    offsets = np.arange(1 - n, n)
    near = np.abs(offsets) <= widest
    return Rulers(columns[0].numpy(), offsets[near], diagonals[0].numpy()[near])


def brightness(
    maps: Float[Tensor, "map row cell"], sizes: Int[Tensor, " map"]
) -> Float[Tensor, "map row cell"]:
    """Maps as they are shown: the square root of the weight, the brightest half percent full.

    A map has `sizes` rows and cells; what is beyond them is 0. The limit is numpy's quantile.
    """
    cells = maps.flatten(1)
    top = cells.topk(min(int(_FULL * cells.shape[1]) + 2, cells.shape[1])).values
    place = _FULL * (sizes.double() ** 2 - 1)
    low = place.long()
    above, below = (
        top.gather(1, at.clamp_max(top.shape[1] - 1)[:, None])[:, 0] for at in (low, low + 1)
    )
    limit = torch.lerp(above, below, (place - low).to(above.dtype)).clamp_min(1e-9)
    return (maps / limit[:, None, None]).clamp(0, 1).sqrt()


def measured(
    maps: Float[Tensor, "map row cell"], sizes: Int[Tensor, " map"]
) -> tuple[Float[Tensor, "map cell"], Float[Tensor, "map offset"]]:
    """Every cell's brightness above the median cell of its row, as means of columns and diagonals.

    A column's mean leaves out the cells on and next to the diagonal. From the means of all columns
    their median is taken away, and so for diagonals: a texture lifts all of them. In a causal map
    only keys up to the query are looked at, and diagonals from an eighth of the rows on, since
    the first rows have too few keys to compare. A column or diagonal needs a quarter of the rows,
    three at least; NaN otherwise, and for diagonals more than an eighth of the tokens, or two, off
    the main one. Diagonals are those from 1 − n to n − 1, n being the width of the tensor.
    """
    n = sizes[:, None, None]
    token = torch.arange(maps.shape[-1], device=maps.device)
    after = token - token[:, None]
    furthest = torch.minimum(_reach(maps), sizes - 1)[:, None, None]
    seen = (token < n) & (token[:, None] < n) & (after <= furthest)
    bright = brightness(maps, sizes)
    above = torch.where(seen, bright - _median(bright, seen)[..., None], 0)
    fewest = (sizes / 4).clamp_min(3)[:, None]

    beside = seen & (after.abs() > 1)
    columns = _standing_out(torch.where(beside, above, 0).sum(dim=1), beside.sum(dim=1), fewest)

    late = seen & ((furthest == n - 1) | (token[:, None] >= n // 8))
    at = (after + len(token) - 1).flatten()
    empty = above.new_zeros(len(maps), 2 * len(token) - 1)
    totals = empty.index_add(1, at, torch.where(late, above, 0).flatten(1))
    counts = empty.index_add(1, at, late.flatten(1).to(above.dtype))
    offset = torch.arange(1 - len(token), len(token), device=maps.device)
    near = offset.abs() <= (sizes // 8).clamp_min(2)[:, None]
    diagonals = _standing_out(totals, counts, fewest)
    return columns, torch.where(near, diagonals, torch.nan)


def _reach(maps: Float[Tensor, "map row cell"]) -> Int[Tensor, " map"]:
    """How many cells beyond the diagonal keys are looked at: 0 or 1 in a causal map.

    Pooling can put part of a causal map's diagonal one cell to the right.
    """
    none, one = (maps.triu(k).flatten(1).amax(dim=1) == 0 for k in (1, 2))
    widest = maps.shape[-1]
    return torch.where(none, 0, torch.where(one, 1, widest))


def is_causal(pattern: NDArray[Any]) -> bool:
    """Whether no row of a map, pooled or not, looks at what comes after it.

    >>> is_causal(np.tri(4)), is_causal(np.ones((4, 4)))
    (True, False)
    """
    return not np.triu(pattern, 2).any()


def _median(
    values: Float[Tensor, "*rows cell"], seen: Bool[Tensor, "*rows cell"]
) -> Float[Tensor, "*rows"]:
    """The median of what is seen in each row; 0 where nothing is."""
    ordered = _sorted(torch.where(seen, values, torch.inf))
    count = seen.sum(dim=-1, keepdim=True)
    low, high = (ordered.gather(-1, at) for at in ((count - 1).clamp_min(0) // 2, count // 2))
    found = ((low + high) / 2)[..., 0]
    return torch.where(count[..., 0] > 0, found, 0)


def _sorted(values: Float[Tensor, "*rows cell"]) -> Float[Tensor, "*rows cell"]:
    """Every row in order; numpy's sort of short rows is several times as fast as torch's."""
    if values.is_cpu:
        return torch.from_numpy(np.sort(values.numpy(), axis=-1))
    return values.sort(dim=-1).values


def _standing_out(
    totals: Float[Tensor, "map part"], counts: Tensor, fewest: Float[Tensor, "map 1"]
) -> Float[Tensor, "map part"]:
    """Means above the median of them all; NaN where there are too few cells for one."""
    enough = counts >= fewest
    means = totals / counts.clamp_min(1)
    return torch.where(enough, means - _median(means, enough)[:, None], torch.nan)
