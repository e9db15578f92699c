"""Counts between fixed edges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headscope.values.value import VALUES, Arrays, Value, frozen, require_same


@VALUES.register("histogram")
@dataclass(frozen=True, slots=True, eq=False)
class Histogram(Value):
    """How many samples fall between fixed edges, for every element of a shape.

    `counts[..., i]` is the number of samples in [edges[i], edges[i+1]); the last bin includes
    its right edge, as in `numpy.histogram`. What lies outside is counted in `under` and `over`,
    NaN in `n_nan`: every sample is counted exactly once. Adding is exact.

    >>> h = Histogram.of([0.5, 1.0, 2.0, 9.0, float("nan")], edges=[0, 1, 2])
    >>> h.counts.tolist(), int(h.over), int(h.n_nan)
    ([1, 2], 1, 1)
    """

    kind: ClassVar[str] = "histogram"

    edges: NDArray[np.float64]
    counts: NDArray[np.int64]
    under: NDArray[np.int64]
    over: NDArray[np.int64]
    n_nan: NDArray[np.int64]

    def __post_init__(self) -> None:
        edges = frozen(self.edges, np.float64)
        if edges.ndim != 1 or len(edges) < 2 or not np.all(np.diff(edges) > 0):
            raise ValueError("edges must be at least two increasing numbers")
        object.__setattr__(self, "edges", edges)
        for name in ("counts", "under", "over", "n_nan"):
            object.__setattr__(self, name, frozen(getattr(self, name), np.int64))
        expected = (*self.under.shape, len(edges) - 1)
        if self.counts.shape != expected or not (
            self.under.shape == self.over.shape == self.n_nan.shape
        ):
            raise ValueError(f"counts have shape {self.counts.shape}, expected {expected}")

    @classmethod
    def of(cls, samples: ArrayLike, edges: ArrayLike, axis: int = 0) -> Self:
        """The histogram of samples along `axis`, one for every element of the other axes."""
        bounds = np.asarray(edges, dtype=np.float64)
        x = np.moveaxis(np.asarray(samples, dtype=np.float64), axis, -1)
        shape, n_bins = x.shape[:-1], len(bounds) - 1
        # Slots: 0 is under, 1 … n_bins the bins, then over, then NaN.
        slot = np.searchsorted(bounds, x, side="right")
        slot = np.where(x == bounds[-1], n_bins, slot)
        slot = np.where(np.isnan(x), n_bins + 2, slot)
        n_slots, n_rows = n_bins + 3, int(np.prod(shape))
        row = np.arange(n_rows).reshape((*shape, 1)) * n_slots
        flat = np.bincount((row + slot).ravel(), minlength=n_rows * n_slots)
        table = flat.reshape((*shape, n_slots))
        return cls(
            bounds, table[..., 1 : n_bins + 1], table[..., 0], table[..., -2], table[..., -1]
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the elements, without the axis of bins."""
        return self.under.shape

    @property
    def n(self) -> NDArray[np.int64]:
        """Samples that are numbers, inside the edges or not."""
        inside: NDArray[np.int64] = self.counts.sum(axis=-1, dtype=np.int64)
        return inside + self.under + self.over

    def __add__(self, other: Self) -> Self:
        if not isinstance(other, type(self)):
            return NotImplemented
        require_same("Histogram of shape", self.shape, other.shape)
        require_same("Histogram with edges", self.edges.tolist(), other.edges.tolist())
        return type(self)(
            self.edges,
            self.counts + other.counts,
            self.under + other.under,
            self.over + other.over,
            self.n_nan + other.n_nan,
        )

    def empty_like(self) -> Self:
        zeros = np.zeros(self.shape, np.int64)
        return type(self)(self.edges, np.zeros(self.counts.shape, np.int64), zeros, zeros, zeros)

    def to_arrays(self) -> Arrays:
        names = ("edges", "counts", "under", "over", "n_nan")
        return {name: getattr(self, name) for name in names}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        return cls(
            arrays["edges"], arrays["counts"], arrays["under"], arrays["over"], arrays["n_nan"]
        )
