"""Delimiters: [CLS], [SEP], both."""

from __future__ import annotations

from jaxtyping import Bool
from torch import Tensor

from headscope.measures.roles.role import RoleBatch, role
from headscope.types import TokenKind


@role("delimiter", across=True)
def delimiter(batch: RoleBatch) -> Bool[Tensor, "batch 1 key"]:
    """Every [CLS] and [SEP]."""
    return batch.tokens.is_kind(TokenKind.CLS, TokenKind.SEP)[:, None, :]


@role("cls", across=True)
def cls(batch: RoleBatch) -> Bool[Tensor, "batch 1 key"]:
    """The [CLS] token."""
    return batch.tokens.is_kind(TokenKind.CLS)[:, None, :]


@role("sep", across=True)
def sep(batch: RoleBatch) -> Bool[Tensor, "batch 1 key"]:
    """Every [SEP]."""
    return batch.tokens.is_kind(TokenKind.SEP)[:, None, :]
