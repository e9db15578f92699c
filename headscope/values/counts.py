"""How often, and out of how many."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headscope.values.value import VALUES, Arrays, Value, frozen, require_same


@VALUES.register("counts")
@dataclass(frozen=True, slots=True, eq=False, init=False)
class Counts(Value):
    """Whole numbers that add: plain counts, or successes out of trials.

    Exact, hence associative and commutative without rounding (up to 2⁶³ - 1). The proportion is
    successes / trials, NaN where nothing was tried.

    >>> both = Counts([3, 0], trials=[4, 0]) + Counts([1, 0], trials=[4, 0])
    >>> both.counts.tolist(), both.proportion.tolist()
    ([4, 0], [0.5, nan])
    """

    kind: ClassVar[str] = "counts"

    counts: NDArray[np.int64]
    trials: NDArray[np.int64] | None

    def __init__(self, counts: ArrayLike, trials: ArrayLike | None = None) -> None:
        successes = frozen(_whole(counts), np.int64)
        object.__setattr__(self, "counts", successes)
        if trials is None:
            object.__setattr__(self, "trials", None)
            return
        tried = frozen(_whole(trials), np.int64)
        if tried.shape != successes.shape:
            raise ValueError(f"{successes.shape} counts cannot have {tried.shape} trials")
        if np.any(successes > tried):
            raise ValueError("more successes than trials")
        object.__setattr__(self, "trials", tried)

    @classmethod
    def of(cls, hits: ArrayLike, axis: int | tuple[int, ...] = 0) -> Self:
        """Successes and trials of 0/1 outcomes along `axis`; NaN was not tried.

        >>> Counts.of([[1, 0], [1, float("nan")]]).trials.tolist()
        [2, 1]
        """
        x = np.asarray(hits, dtype=np.float64)
        if not np.all((x == 0) | (x == 1) | np.isnan(x)):
            raise ValueError("outcomes must be 0, 1 or NaN")
        return cls(np.sum(x == 1, axis=axis), np.sum(~np.isnan(x), axis=axis))

    @property
    def shape(self) -> tuple[int, ...]:
        return self.counts.shape

    @property
    def proportion(self) -> NDArray[np.float64]:
        """Successes per trial; NaN where nothing was tried."""
        if self.trials is None:
            raise ValueError("plain counts have no trials, hence no proportion")
        return np.where(self.trials > 0, self.counts / np.maximum(self.trials, 1), np.nan)

    def __add__(self, other: Self) -> Self:
        if not isinstance(other, type(self)):
            return NotImplemented
        require_same("Counts of shape", self.shape, other.shape)
        if self.trials is None and other.trials is None:
            return type(self)(self.counts + other.counts)
        if self.trials is None or other.trials is None:
            raise ValueError("cannot add Counts with trials and Counts without")
        return type(self)(self.counts + other.counts, self.trials + other.trials)

    def empty_like(self) -> Self:
        zeros = np.zeros(self.shape, np.int64)
        return type(self)(zeros, None if self.trials is None else zeros)

    def to_arrays(self) -> Arrays:
        arrays: Arrays = {"counts": self.counts}
        if self.trials is not None:
            arrays["trials"] = self.trials
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        return cls(arrays["counts"], arrays.get("trials"))


def _whole(numbers: ArrayLike) -> NDArray[Any]:
    """Counts are whole; a fraction is a mistake, not something to cut off."""
    array = np.asarray(numbers)
    if array.dtype.kind == "f" and not np.all(array == np.trunc(array)):
        raise ValueError("counts must be whole numbers")
    return array
