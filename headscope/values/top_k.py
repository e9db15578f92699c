"""The examples with the highest scores."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from heapq import nsmallest
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from headscope.values.example import Example, examples_from_arrays, examples_to_arrays
from headscope.values.value import VALUES, Arrays, Value, require_same


@VALUES.register("top_k")
@dataclass(frozen=True, slots=True, eq=False, init=False)
class TopK(Value):
    """The `k` examples with the highest scores, best first; ties go to the smaller id.

    Merging keeps the best k of both and is exactly associative and commutative. A NaN score is
    no data and never enters. For the lowest scores, negate them.

    >>> a = TopK.of([Example("s2", 0.9, "two"), Example("s1", 0.9, "one")], k=2)
    >>> [e.id for e in (a + TopK.of([Example("s3", 1.0, "three")], k=2)).examples]
    ['s3', 's1']
    """

    kind: ClassVar[str] = "top_k"

    k: int
    examples: tuple[Example, ...]

    def __init__(self, k: int, examples: Iterable[Example] = ()) -> None:
        if k < 1:
            raise ValueError(f"a list needs room for at least one example, found k = {k}")
        object.__setattr__(self, "k", int(k))
        scored = (item for item in examples if not math.isnan(item.score))
        object.__setattr__(self, "examples", tuple(nsmallest(k, scored, key=_order)))

    @classmethod
    def of(cls, examples: Iterable[Example], k: int) -> Self:
        """The best of these examples."""
        return cls(k, examples)

    def __add__(self, other: Self) -> Self:
        if not isinstance(other, type(self)):
            return NotImplemented
        require_same("TopK with k", self.k, other.k)
        return type(self)(self.k, self.examples + other.examples)

    def empty_like(self) -> Self:
        return type(self)(self.k)

    def to_arrays(self) -> Arrays:
        return {"k": np.array(self.k), **examples_to_arrays(self.examples)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        return cls(int(arrays["k"]), examples_from_arrays(arrays))


def _order(item: Example) -> tuple[float, str, str, float]:
    """Best first; the last element tells 0.0 from -0.0, so that the order is total."""
    return -item.score, item.id, item.text, -math.copysign(1.0, item.score)
