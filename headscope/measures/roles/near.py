"""Near tokens: on both sides, before, after."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from headscope.measures.roles.role import RoleBatch, role


def offsets(batch: RoleBatch) -> Int[Tensor, "1 query key"]:
    """How many tokens a key stands after the query."""
    place = torch.arange(batch.tokens.real.shape[1], device=batch.tokens.real.device)
    return (place[None, :] - place[:, None])[None]


@role("local")
def local(batch: RoleBatch) -> Bool[Tensor, "1 query key"]:
    """The token itself and those within two tokens of it, on either side."""
    return offsets(batch).abs() <= batch.options.window


@role("prev_local")
def prev_local(batch: RoleBatch) -> Bool[Tensor, "1 query key"]:
    """The two tokens before, the token itself excluded."""
    offset = offsets(batch)
    return (offset < 0) & (offset >= -batch.options.window)


@role("next_local")
def next_local(batch: RoleBatch) -> Bool[Tensor, "1 query key"]:
    """The two tokens after, the token itself excluded."""
    offset = offsets(batch)
    return (offset > 0) & (offset <= batch.options.window)
