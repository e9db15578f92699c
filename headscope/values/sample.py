"""Rows of numbers kept for a bounded number of items."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headscope.values.example import decode_strings, encode_strings
from headscope.values.value import VALUES, Arrays, Value, frozen, require_same


def item_key(seed: int, item: str) -> int:
    """A fixed pseudo-random number of 63 bits for an item."""
    text = f"{seed}\0{item}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big") >> 1


@VALUES.register("sample")
@dataclass(frozen=True, slots=True, eq=False, init=False)
class Sample(Value):
    """One array per item, for the `k` items with the smallest hash: a uniform sample.

    As in `Reservoir`, every item has a fixed key, h(seed, id); the smallest k keys of a union are
    among the smallest k of its parts, so the sample does not depend on how a corpus was cut, and
    two models over one corpus keep the same items. `ids` and `rows` stand in the order of keys;
    `rows[i]` is item i's array, in float32. Ids must be unique in the corpus.

    >>> a, b = Sample.of(["s1", "s2"], [[1.0], [2.0]], k=2), Sample.of(["s3"], [[3.0]], k=2)
    >>> (a + b).ids == (b + a).ids, len((a + b).ids), (a + b).rows.shape
    (True, 2, (2, 1))
    """

    kind: ClassVar[str] = "sample"

    k: int
    seed: int
    ids: tuple[str, ...]
    keys: NDArray[np.int64]
    rows: NDArray[np.float32]

    def __init__(
        self,
        k: int,
        seed: int,
        ids: Iterable[str],
        keys: ArrayLike,
        rows: ArrayLike,
    ) -> None:
        names, order_by = tuple(ids), np.asarray(keys, np.int64)
        values = np.asarray(rows, np.float32)
        if k < 0:
            raise ValueError(f"a sample of {k} items")
        if not len(names) == len(order_by) == len(values):
            raise ValueError(f"{len(names)} ids, {len(order_by)} keys and {len(values)} rows")
        order = np.argsort(order_by, kind="stable")
        if np.any(np.diff(order_by[order]) == 0):  # a tie must not be left to chance
            ranks = [(order_by[i], names[i], values[i].tobytes()) for i in range(len(names))]
            order = np.array(sorted(range(len(names)), key=ranks.__getitem__))
        order = order[:k]
        object.__setattr__(self, "k", int(k))
        object.__setattr__(self, "seed", int(seed))
        object.__setattr__(self, "ids", tuple(names[i] for i in order))
        object.__setattr__(self, "keys", frozen(order_by[order], np.int64))
        object.__setattr__(self, "rows", frozen(values[order], np.float32))

    @classmethod
    def of(cls, ids: Iterable[str], rows: ArrayLike, k: int, seed: int = 0) -> Self:
        """The sample of these items."""
        names = tuple(ids)
        return cls(k, seed, names, [item_key(seed, name) for name in names], rows)

    def __add__(self, other: Self) -> Self:
        if not isinstance(other, type(self)):
            return NotImplemented
        require_same("Sample with (k, seed)", (self.k, self.seed), (other.k, other.seed))
        require_same("Sample of rows of shape", self.rows.shape[1:], other.rows.shape[1:])
        keys = np.concatenate([self.keys, other.keys])
        rows = np.concatenate([self.rows, other.rows])
        return type(self)(self.k, self.seed, self.ids + other.ids, keys, rows)

    def empty_like(self) -> Self:
        return type(self)(self.k, self.seed, (), [], np.zeros((0, *self.rows.shape[1:])))

    def to_arrays(self) -> Arrays:
        ids, offsets = encode_strings(self.ids)
        return {
            "k_seed": np.array([self.k, self.seed]),
            "ids": ids,
            "id_offsets": offsets,
            "keys": self.keys,
            "rows": self.rows,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        k, seed = arrays["k_seed"].tolist()
        ids = decode_strings(arrays["ids"], arrays["id_offsets"])
        return cls(k, seed, ids, arrays["keys"], arrays["rows"])
