"""Question marks."""

from __future__ import annotations

from collections.abc import Iterable

from jaxtyping import Bool
from torch import Tensor

from headscope.measures.roles.role import RoleBatch, role
from headscope.types import Encoded

MARKS = "?？؟"


def question_marks(encoded: Encoded) -> Iterable[bool]:
    """Which tokens hold a question mark."""
    texts = [encoded.sequence.segment_text(segment) for segment in (0, 1)]
    if not any(mark in text for mark in MARKS for text in texts):
        return ()
    places = zip(encoded.segments.tolist(), encoded.offsets.tolist(), strict=True)
    return [
        segment >= 0 and any(mark in texts[segment][start:end] for mark in MARKS)
        for segment, (start, end) in places
    ]


@role("interrogative", across=True)
def interrogative(batch: RoleBatch) -> Bool[Tensor, "batch 1 key"]:
    """Every question mark."""
    return batch.keys_where(question_marks(encoded) for encoded in batch.encoded)
