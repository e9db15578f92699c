"""Length-sorted batches under a token budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from headscope.types import Encoded

T = TypeVar("T")


def width(encoded: Encoded) -> int:
    """The length that padding must reach: the longer side of an encoder–decoder input."""
    return max(encoded.n_tokens, encoded.target.n_tokens if encoded.target else 0)


def length_sorted_by(
    items: Sequence[T], n_tokens: Callable[[T], int], batch_tokens: int
) -> Iterator[list[T]]:
    """Batches of items of about one length, shortest first.

    A batch is as large as its padded size stays within `batch_tokens`; an item longer than the
    budget is a batch of its own. Sorting is stable, so the order is the same every time.

    >>> list(length_sorted_by(["aaa", "b", "cc"], len, 4))
    [['b', 'cc'], ['aaa']]
    """
    batch: list[T] = []
    for item in sorted(items, key=n_tokens):
        if batch and (len(batch) + 1) * n_tokens(item) > batch_tokens:
            yield batch
            batch = []
        batch.append(item)
    if batch:
        yield batch
