"""Plain sums."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headscope.values.value import VALUES, Arrays, Value, frozen, require_same


@VALUES.register("sum")
@dataclass(frozen=True, slots=True, eq=False, init=False)
class Sum(Value):
    """The sum of arrays of one shape, in float64: total = Σ x.

    A NaN stays, as in any sum: leave out what is no data, or use `Moments`. Adding is
    associative up to rounding and exactly commutative.

    >>> (Sum([1.0, 2.0]) + Sum([10.0, 20.0])).total.tolist()
    [11.0, 22.0]
    """

    kind: ClassVar[str] = "sum"

    total: NDArray[np.float64]

    def __init__(self, total: ArrayLike) -> None:
        object.__setattr__(self, "total", frozen(total, np.float64))

    @property
    def shape(self) -> tuple[int, ...]:
        return self.total.shape

    def __add__(self, other: Self) -> Self:
        if not isinstance(other, type(self)):
            return NotImplemented
        require_same("Sum of shape", self.shape, other.shape)
        return type(self)(self.total + other.total)

    def empty_like(self) -> Self:
        return type(self)(np.zeros(self.shape))

    def to_arrays(self) -> Arrays:
        return {"total": self.total}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        return cls(arrays["total"])
