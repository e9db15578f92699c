"""A uniform sample without replacement from a stream of known length."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def sample_in_order(items: Iterable[T], n_items: int, n_wanted: int, seed: int) -> Iterator[T]:
    """Selection sampling (Knuth, TAOCP 2, 3.4.2, algorithm S): flat memory, order kept.

    Every item is taken with probability (still wanted) / (still to come). Python's own generator is
    used because it promises the same numbers in every version.

    >>> list(sample_in_order("abcdef", 6, 3, seed=1))
    ['a', 'd', 'e']
    """
    generator = random.Random(seed)
    left, wanted = n_items, n_wanted
    for item in items:
        if wanted <= 0:
            return
        if generator.random() * left < wanted:
            wanted -= 1
            yield item
        left -= 1
