"""The same segment."""

from __future__ import annotations

from jaxtyping import Bool
from torch import Tensor

from headscope.measures.roles.role import RoleBatch, role


@role("block", needs={"pair"})
def block(batch: RoleBatch) -> Bool[Tensor, "batch query key"]:
    """Every token of the query's own segment, in a text of two; delimiters belong to none."""
    segments = batch.tokens.segments
    inside = segments >= 0
    # An encoder–decoder model reads one segment on each side: nothing to tell apart there.
    two = (segments == 0).any(dim=1) & (segments == 1).any(dim=1)
    same = segments[:, :, None] == segments[:, None, :]
    return same & inside[:, None, :] & inside[:, :, None] & two[:, None, None]
