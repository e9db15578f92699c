"""What a probe sees of a task's rows: vectors from the cache, alone or in pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Features:
    """The rows of a task in a cache: one each, or two where texts come in pairs.

    A pair (u, v) of vectors becomes |u − v| and u · v, side by side, element by element
    (Conneau & Kiela 2018, §3, for sentence pairs). With `unit_on`, every set is divided by its
    spread over those rows (`spread`), so that a penalty means the same to all sets.
    """

    rows: NDArray[np.float16]
    first: NDArray[np.int64]
    second: NDArray[np.int64] | None = None
    unit_on: NDArray[np.int64] | None = None

    @property
    def n_rows(self) -> int:
        return len(self.first)

    def widened(self, width: int) -> int:
        """How many features a vector of that width becomes."""
        return width if self.second is None else 2 * width

    def block(self, columns: Sequence[slice]) -> Float[Tensor, "set d row"]:
        """The features of several heads or layers of one width, rows innermost."""
        start, stop = columns[0].start, columns[-1].stop
        together = all(a.stop == b.start for a, b in pairwise(columns))
        if not together:
            return torch.cat([self.block([one]) for one in columns])
        found = self._columns(self.first, start, stop, len(columns))
        if self.second is not None:
            v = self._columns(self.second, start, stop, len(columns))
            found = torch.cat([(found - v).abs(), found * v], dim=1)
        if self.unit_on is not None:
            found /= spread(found[:, :, self.unit_on])[:, None, None]
        return found

    def _columns(self, at: NDArray[np.int64], start: int, stop: int, n_sets: int) -> Tensor:
        # one column block of each row, then turned so that rows lie innermost
        table = np.ascontiguousarray(self.rows[at, start:stop].T, dtype=np.float32)
        return torch.from_numpy(table).view(n_sets, -1, len(at))


def spread(features: Float[Tensor, "set d row"]) -> Float[Tensor, " set"]:
    """The root mean square distance of a feature from its mean; 1 where nothing varies.

    >>> spread(torch.tensor([[[1.0, 3.0], [0.0, 0.0]], [[5.0, 5.0], [5.0, 5.0]]])).tolist()
    [0.7071067690849304, 1.0]
    """
    found = features.var(dim=2, correction=0).mean(dim=1).sqrt()
    return torch.where(found > 0, found, 1.0)
