"""A uniform sample that does not depend on how the corpus was cut."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from heapq import nsmallest
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from headscope.values.example import Example, examples_from_arrays, examples_to_arrays
from headscope.values.value import VALUES, Arrays, Value, require_same


@VALUES.register("reservoir")
@dataclass(frozen=True, slots=True, eq=False, init=False)
class Reservoir(Value):
    """`k` examples drawn uniformly without replacement: those with the smallest hash.

    Every item has a fixed key, h(seed, id), and the sample is the k items with the smallest
    keys. The smallest k of a union are the smallest k of the parts' smallest k, so merging is
    exactly associative and commutative: one shard or a thousand give the same sample. Source:
    bottom-k sketches, Cohen & Kaplan (2007), "Summarizing data using bottom-k sketches", §2,
    with keys from BLAKE2b instead of a random generator. Ids must be unique in the corpus.

    >>> items = [Example(f"s{i}", i / 10, f"text {i}") for i in range(10)]
    >>> whole = Reservoir.of(items, k=3, seed=1)
    >>> parts = Reservoir.of(items[5:], k=3, seed=1) + Reservoir.of(items[:5], k=3, seed=1)
    >>> parts.examples == whole.examples, len(whole.examples)
    (True, 3)
    """

    kind: ClassVar[str] = "reservoir"

    k: int
    seed: int
    examples: tuple[Example, ...]

    def __init__(self, k: int, seed: int = 0, examples: Iterable[Example] = ()) -> None:
        if k < 1:
            raise ValueError(f"a sample needs room for at least one example, found k = {k}")
        object.__setattr__(self, "k", int(k))
        object.__setattr__(self, "seed", int(seed))
        kept = nsmallest(k, examples, key=lambda item: _order(seed, item))
        object.__setattr__(self, "examples", tuple(kept))

    @classmethod
    def of(cls, examples: Iterable[Example], k: int, seed: int = 0) -> Self:
        """The sample of these examples."""
        return cls(k, seed, examples)

    def __add__(self, other: Self) -> Self:
        if not isinstance(other, type(self)):
            return NotImplemented
        require_same("Reservoir with (k, seed)", (self.k, self.seed), (other.k, other.seed))
        return type(self)(self.k, self.seed, self.examples + other.examples)

    def empty_like(self) -> Self:
        return type(self)(self.k, self.seed)

    def to_arrays(self) -> Arrays:
        return {"k_seed": np.array([self.k, self.seed]), **examples_to_arrays(self.examples)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        k, seed = arrays["k_seed"].tolist()
        return cls(k, seed, examples_from_arrays(arrays))


def _order(seed: int, item: Example) -> tuple[bytes, str, str, bytes]:
    """A total order: by hash, then by everything else, so that no tie is left to chance."""
    text = f"{seed}\0{item.id}".encode("utf-8", "surrogatepass")
    key = hashlib.blake2b(text, digest_size=8).digest()
    return key, item.id, item.text, struct.pack(">d", item.score)
