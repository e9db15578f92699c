"""How plain columns, a diagonal and blocks are in a map's image: the labelling rule in numbers.

The made-up maps are checked with it, so that a map called diagonal also looks diagonal. It is no
classifier of its own: real maps are named by the network.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

#: Rows and columns of the image that is looked at.
CELLS: Final = 32
#: Least and most of (column, line, block) for a shape's name; set on the development maps. Limits
#: of neighbouring shapes overlap a little: what is in between may have either name.
LIMITS: Final = {
    "vertical": ((0.27, -1.0, -1.0), (1.0, 0.19, 0.15)),
    "diagonal": ((-1.0, 0.24, -1.0), (0.27, 1.0, 0.08)),
    "vertical_diagonal": ((0.26, 0.17, -1.0), (1.0, 1.0, 0.085)),
    "heterogeneous": ((-1.0, -1.0, -1.0), (0.31, 0.26, 0.12)),
}
#: Blocks are plain from here on, and from there on where a line draws the eye away from texture.
BLOCK, BLOCK_WITH_LINE = 0.12, 0.075
_OFFSETS: Final = range(-3, 4)
_FIRST_ROW: Final = 8  # early rows of a causal map have too few keys to compare


class Visibility(NamedTuple):
    """Differences of brightness (0 to 1) between a part and what is around it."""

    column: float
    line: float
    block: float

    def fits(self, pattern: str) -> bool:
        """Whether a map may bear this name: its parts are plain to see, and no other is."""
        if pattern == "block":
            return self.block >= (BLOCK_WITH_LINE if self.line >= 0.4 else BLOCK)
        least, most = LIMITS[pattern]
        return all(a <= x <= b for a, x, b in zip(least, self, most, strict=True))


def visibility(image: NDArray[Any]) -> Visibility:
    """Brightness is the square root of the weight over the brightest percent of cells.

    `column`: the best column's mean difference to the columns two and three beside it; `line`: the
    best of the diagonals −3 … 3, its mean difference to keys five to ten tokens away; `block`: for
    the best cut into two, the mean difference between pairs inside and across, distance by
    distance, neighbours left out.

    >>> line, even = visibility(np.eye(CELLS)), visibility(np.full((CELLS, CELLS), 1 / CELLS))
    >>> line.fits("diagonal"), line.fits("vertical_diagonal"), even.fits("heterogeneous")
    (True, False, True)
    """
    causal = bool(np.triu(image, 2).sum() < 1e-3 * CELLS)
    allowed = np.tri(CELLS, dtype=bool) if causal else np.ones((CELLS, CELLS), dtype=bool)
    top = max(float(np.quantile(image[allowed], 0.99)), 1e-12)
    bright = np.sqrt(np.clip(image / top, 0, 1))
    return Visibility(
        _column(bright, allowed, causal), _line(bright, causal), _block(bright, causal)
    )


def _column(bright: NDArray[Any], allowed: NDArray[np.bool_], causal: bool) -> float:
    total, count = np.zeros_like(bright), np.zeros_like(bright)
    for shift in (-3, -2, 2, 3):
        to, of = (slice(shift, None), slice(None, -shift))
        if shift < 0:
            to, of = slice(None, shift), slice(-shift, None)
        total[:, to] += (bright * allowed)[:, of]
        count[:, to] += allowed[:, of]
    rows = np.tri(CELLS, k=-3, dtype=bool) if causal else allowed
    difference = np.clip(bright - total / np.maximum(count, 1), -0.1, 0.6) * rows
    n_rows = rows.sum(axis=0)
    mean = difference.sum(axis=0) / np.maximum(n_rows, 1)
    return float(mean[n_rows >= 8].max())


def _line(bright: NDArray[Any], causal: bool) -> float:
    around = _around(causal)
    rows = np.arange(_FIRST_ROW, CELLS)
    level = (bright * around).sum(axis=1) / around.sum(axis=1)
    best = -1.0
    for offset in _OFFSETS:
        if not (causal and offset > 0):
            here = rows[(rows + offset < CELLS)]
            best = max(best, float((bright[here, here + offset] - level[here]).mean()))
    return best


@cache
def _around(causal: bool) -> NDArray[np.float64]:
    token = np.arange(CELLS)
    before = token[:, None] - token
    near = (before >= 5) & (before <= 10)
    return (near if causal else near | near.T).astype(np.float64) + 1e-9


def _block(bright: NDArray[Any], causal: bool) -> float:
    return float((_cuts(causal) @ bright.ravel()).max())


@cache
def _cuts(causal: bool) -> NDArray[np.float64]:
    """One row of weights per cut: inside minus across, the mean over distances."""
    token = np.arange(CELLS)
    before = token[:, None] - token
    counted = (before > 0 if causal else before != 0) & (token > 0)
    found = []
    for cut in range(9, 24):
        same = (token[:, None] >= cut) == (token >= cut)
        weights, n = np.zeros((CELLS, CELLS)), 0
        for distance in range(4, min(cut, CELLS - cut) + 6):
            pairs = counted & (np.abs(before) == distance)
            inside, across = pairs & same, pairs & ~same
            if inside.sum() > 3 and across.sum() > 3:
                weights += inside / inside.sum() - across / across.sum()
                n += 1
        found.append(weights.ravel() / max(n, 1))
    return np.array(found)
