"""Mean and variance that merge without losing digits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headscope.values.value import VALUES, Arrays, Value, frozen, require_same


@VALUES.register("moments")
@dataclass(frozen=True, slots=True, eq=False)
class Moments(Value):
    """Count, mean and sum of squared deviations of samples, element by element.

    `n` counts the samples of each element (NaN samples count nowhere), `centre` is their mean
    (0 where n is 0) and `m2` the sum of (x - mean)². Two sets A and B merge as

        d = mean_B - mean_A
        mean = mean_A + d · n_B / n
        M2 = M2_A + M2_B + d² · n_A · n_B / n

    which never subtracts large squares, so an offset of 1e9 costs no digits of the variance.
    Source: Chan, Golub & LeVeque (1983), "Algorithms for computing the sample variance",
    The American Statistician 37(3), eq. 2.1; `of` is their corrected two-pass algorithm, eq. 1.7.
    Samples are expected to be finite or NaN.

    >>> a = Moments.of([[1.0, 5.0], [2.0, float("nan")]]) + Moments.of([[6.0, float("nan")]])
    >>> a.n.tolist(), a.mean.tolist(), a.variance.tolist()
    ([3, 1], [3.0, 5.0], [7.0, nan])
    """

    kind: ClassVar[str] = "moments"

    n: NDArray[np.int64]
    centre: NDArray[np.float64]
    m2: NDArray[np.float64]

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", frozen(self.n, np.int64))
        object.__setattr__(self, "centre", frozen(self.centre, np.float64))
        object.__setattr__(self, "m2", frozen(self.m2, np.float64))
        if not self.n.shape == self.centre.shape == self.m2.shape:
            raise ValueError(
                "n, centre and m2 of Moments must have one shape, found "
                f"{self.n.shape}, {self.centre.shape}, {self.m2.shape}"
            )

    @classmethod
    def of(cls, samples: ArrayLike, axis: int | tuple[int, ...] = 0) -> Self:
        """The moments of samples along `axis`; NaN is no sample."""
        x = np.asarray(samples, dtype=np.float64)
        missing = np.isnan(x)
        n = np.asarray(np.sum(~missing, axis=axis, keepdims=True, dtype=np.int64))
        safe_n = np.maximum(n, 1)
        # An infinite sample makes an infinite mean and an undefined spread; that is no warning.
        with np.errstate(invalid="ignore", over="ignore"):
            mean = np.sum(np.where(missing, 0.0, x), axis=axis, keepdims=True) / safe_n
            deviation = np.where(missing, 0.0, x - mean)
            drift = np.sum(deviation, axis=axis, keepdims=True)
            squares = np.sum(deviation**2, axis=axis, keepdims=True)
            m2 = np.maximum(squares - drift**2 / safe_n, 0.0)
        return cls(np.squeeze(n, axis), np.squeeze(mean, axis), np.squeeze(m2, axis))

    @classmethod
    def empty(cls, shape: int | tuple[int, ...]) -> Self:
        """No samples at all, for elements of this shape."""
        return cls(np.zeros(shape, np.int64), np.zeros(shape), np.zeros(shape))

    @property
    def shape(self) -> tuple[int, ...]:
        return self.n.shape

    @property
    def mean(self) -> NDArray[np.float64]:
        """The mean; NaN where there is no sample."""
        return np.where(self.n > 0, self.centre, np.nan)

    @property
    def variance(self) -> NDArray[np.float64]:
        """M2 / (n - 1); NaN where there are fewer than two samples."""
        return np.where(self.n > 1, self.m2 / np.maximum(self.n - 1, 1), np.nan)

    @property
    def std(self) -> NDArray[np.float64]:
        """The square root of the variance."""
        return np.sqrt(self.variance)

    @property
    def sem(self) -> NDArray[np.float64]:
        """The standard error of the mean, std / √n."""
        return self.std / np.sqrt(np.maximum(self.n, 1))

    def __add__(self, other: Self) -> Self:
        if not isinstance(other, type(self)):
            return NotImplemented
        require_same("Moments of shape", self.shape, other.shape)
        n = self.n + other.n
        with np.errstate(invalid="ignore", over="ignore"):
            delta = other.centre - self.centre
            share = other.n / np.maximum(n, 1)
            centre = self.centre + delta * share
            m2 = self.m2 + other.m2 + delta**2 * (self.n * share)
        # An empty side leaves the other's bits alone, signed zeros included.
        choose = [other.n == 0, self.n == 0]
        return type(self)(
            n,
            np.select(choose, [self.centre, other.centre], centre),
            np.select(choose, [self.m2, other.m2], m2),
        )

    def empty_like(self) -> Self:
        return self.empty(self.shape)

    def to_arrays(self) -> Arrays:
        return {"n": self.n, "centre": self.centre, "m2": self.m2}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        return cls(arrays["n"], arrays["centre"], arrays["m2"])
