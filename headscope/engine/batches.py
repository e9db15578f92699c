"""Length-sorted batches of encoded sequences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from headscope.models.batching import length_sorted_by, width
from headscope.types import Encoded

__all__ = ["length_sorted", "width"]


def length_sorted(encoded: Sequence[Encoded], batch_tokens: int) -> Iterator[list[Encoded]]:
    """Batches of sequences of about one length, shortest first.

    A batch is as large as its padded size stays within `batch_tokens`; a sequence longer than the
    budget is a batch of its own. Sorting is stable, so the order is the same every time.
    """
    return length_sorted_by(encoded, width, batch_tokens)
