"""Length-sorted batches under a token budget."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from headscope.types import Encoded


def width(encoded: Encoded) -> int:
    """The length that padding must reach: the longer side of an encoder–decoder input."""
    return max(encoded.n_tokens, encoded.target.n_tokens if encoded.target else 0)


def length_sorted(encoded: Sequence[Encoded], batch_tokens: int) -> Iterator[list[Encoded]]:
    """Batches of sequences of about one length, shortest first.

    A batch is as large as its padded size stays within `batch_tokens`; a sequence longer than the
    budget is a batch of its own. Sorting is stable, so the order is the same every time.
    """
    batch: list[Encoded] = []
    for item in sorted(encoded, key=width):
        if batch and (len(batch) + 1) * width(item) > batch_tokens:
            yield batch
            batch = []
        batch.append(item)
    if batch:
        yield batch
