"""Sibling pieces of the same word."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Bool
from numpy.typing import NDArray
from torch import Tensor

from headscope.measures.roles.role import RoleBatch, role
from headscope.types import Encoded


def word_numbers(encoded: Encoded) -> NDArray[np.int64]:
    """Which word each token belongs to; -1 for delimiters and tokens outside any word.

    Where the corpus has no words, tokens that touch, letter or digit to letter or digit, are
    pieces of one word.
    """
    if encoded.sequence.words is not None:
        return encoded.words.astype(np.int64)
    numbers, number = np.full(encoded.n_tokens, -1), 0
    last_segment, last_end = -1, -1
    for i, (segment, (start, end)) in enumerate(
        zip(encoded.segments.tolist(), encoded.offsets.tolist(), strict=True)
    ):
        if segment >= 0:
            text = encoded.sequence.segment_text(segment)
            touches = segment == last_segment and start == last_end and 0 < start < end
            goes_on = touches and text[start - 1].isalnum() and text[start].isalnum()
            number += not goes_on
            numbers[i] = number
        last_segment, last_end = segment, end
    return numbers


@role("bpe")
def bpe(batch: RoleBatch) -> Bool[Tensor, "batch query key"]:
    """The other pieces of the token's word."""
    table = np.full(batch.tokens.real.shape, -1, dtype=np.int64)
    for row, encoded in zip(table, batch.encoded, strict=True):
        row[: encoded.n_tokens] = word_numbers(encoded)
    words = torch.from_numpy(table).to(batch.tokens.real.device)
    same = (words[:, :, None] == words[:, None, :]) & (words >= 0)[:, :, None]
    return same & ~torch.eye(words.shape[1], dtype=torch.bool, device=words.device)
