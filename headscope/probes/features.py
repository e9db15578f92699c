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
    (Conneau & Kiela 2018, §3, for sentence pairs).
    """

    rows: NDArray[np.float16]
    first: NDArray[np.int64]
    second: NDArray[np.int64] | None = None

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
        u = self._columns(self.first, start, stop, len(columns))
        if self.second is None:
            return u
        v = self._columns(self.second, start, stop, len(columns))
        return torch.cat([(u - v).abs(), u * v], dim=1)

    def _columns(self, at: NDArray[np.int64], start: int, stop: int, n_sets: int) -> Tensor:
        # one column block of each row, then turned so that rows lie innermost
        table = np.ascontiguousarray(self.rows[at, start:stop].T, dtype=np.float32)
        return torch.from_numpy(table).view(n_sets, -1, len(at))
