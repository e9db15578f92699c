"""What every mergeable value promises, and the registry that rebuilds one from a checkpoint."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from headscope.registry import Registry

Arrays: TypeAlias = dict[str, NDArray[Any]]


class Value(ABC):
    """A small summary of observations that adds: the summary of two sets is the sum of theirs.

    Laws, tested for every registered type: `a + b` mutates neither; `(a + b) + c` equals
    `a + (b + c)` up to rounding; `a.empty_like() + a` and `a + a.empty_like()` are `a`; adding
    unlike shapes raises ValueError; `from_arrays(to_arrays())` gives back every bit.

    A subclass registers itself with `@VALUES.register(name)` and sets `kind = name`.
    """

    kind: ClassVar[str]

    @abstractmethod
    def __add__(self, other: Self) -> Self:
        """The value of both sets of observations together."""

    @abstractmethod
    def empty_like(self) -> Self:
        """The value of no observations, of the same shape: the neutral element."""

    @abstractmethod
    def to_arrays(self) -> Arrays:
        """Every bit of the value as named arrays of plain numbers; strings as UTF-8 bytes."""

    @classmethod
    @abstractmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The value that `to_arrays` came from."""

    def identical(self, other: Value) -> bool:
        """Whether both are of one type and hold the same bits (NaN equals the same NaN).

        >>> from headscope.values import Sum
        >>> Sum([1.0, float("nan")]).identical(Sum([1.0, float("nan")]))
        True
        """
        if type(self) is not type(other):
            return False
        mine, theirs = self.to_arrays(), other.to_arrays()
        return mine.keys() == theirs.keys() and all(
            (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())
            for a, b in ((mine[name], theirs[name]) for name in mine)
        )


#: Types of values by short name. Other distributions add theirs by entry point.
VALUES: Registry[type[Value]] = Registry("value", package="headscope.values")

V = TypeVar("V", bound=Value)


def frozen(array: Any, dtype: DTypeLike) -> NDArray[Any]:
    """A read-only C-ordered copy: nothing that happens to the caller's array reaches a value.

    >>> frozen([1, 2], np.int64).flags.writeable
    False
    """
    copy = np.array(array, dtype=dtype, order="C", copy=True)
    copy.flags.writeable = False
    return copy


def require_same(what: str, a: object, b: object) -> None:
    """Raise ValueError unless both values agree on what must agree before they are added.

    >>> require_same("Sum of shape", (2,), (3,))
    Traceback (most recent call last):
    ValueError: cannot add Sum of shape (2,) and (3,)
    """
    if a != b:
        raise ValueError(f"cannot add {what} {a} and {b}")
