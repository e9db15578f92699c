"""Where heads look on the surface: themselves, neighbours, delimiters, punctuation."""

from __future__ import annotations

from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from headscope.measures.later import Later, moments_later
from headscope.measures.measure import MEASURES, LayerMeasure, Total
from headscope.measures.per_sequence import head_table, mean_weights
from headscope.models import Tokens, View
from headscope.types import Result, TokenKind
from headscope.values import Moments

TARGETS = (
    "self", "prev", "next", "first", "cls", "sep", "punct", "other",
    "sep_from_sep", "sep_from_other",
)  # fmt: skip


def key_classes(keys: Tokens) -> Float[Tensor, "batch key target"]:
    """Which keys are first, cls, sep, punct, other (1 or 0); NaN where a sequence has none."""
    first = torch.zeros_like(keys.real)
    first[:, 0] = True
    cls, sep = keys.is_kind(TokenKind.CLS), keys.is_kind(TokenKind.SEP)
    punct = keys.is_kind(TokenKind.PERIOD, TokenKind.COMMA)
    other = keys.is_kind(TokenKind.OTHER)
    classes = torch.stack([first & keys.real, cls, sep, punct, other], dim=-1)
    return classes.to(torch.float32).masked_fill(~classes.any(dim=1, keepdim=True), torch.nan)


def row_classes(queries: Tokens) -> Float[Tensor, "batch row_class query"]:
    """Weights of the mean over all rows, over `sep` rows, and over the other rows."""
    sep = queries.is_kind(TokenKind.SEP)
    rows = (queries.real, sep, queries.real & ~sep)
    return torch.stack([mean_weights(r) for r in rows], dim=1)


def diagonal_mean(
    pattern: Float[Tensor, "batch head query key"],
    rows: Float[Tensor, "batch query"],
    offset: int,
) -> Float[Tensor, "batch head"]:
    """Mean over all rows of the weight on the key `offset` tokens away; a missing key counts 0."""
    n_query, n_key = pattern.shape[-2:]
    start, length = max(0, -offset), max(0, min(n_query, n_key) - abs(offset))
    diagonal = pattern.diagonal(offset, dim1=-2, dim2=-1)
    return (diagonal * rows[:, None, start : start + length]).sum(dim=-1)


def surface_attention(
    pattern: Float[Tensor, "batch head query key"],
    rows: Float[Tensor, "batch row_class query"],
    keys: Float[Tensor, "batch key target"],
) -> Float[Tensor, "batch head row_class target"]:
    """Σ_q Σ_k rows[q] · pattern[q, k] · keys[k]: all classes of rows and keys in two products."""
    return (rows[:, None] @ pattern) @ keys[:, None]


@MEASURES.register("surface")
class SurfaceAttention(LayerMeasure):
    """The share of attention a head gives to itself, its neighbours, delimiters, punctuation.

    For a sequence of n tokens and a set of target keys T(q):

        value = 1/n · Σ_q Σ_{k ∈ T(q)} pattern[q, k]

    then the mean over sequences, with a 95 % interval (Student's t over sequences). Targets are
    the token itself, the previous and the next token; `cls`, `sep`, `punct` (periods and commas)
    and `other` keys, which together share out all attention; in causal stacks the `first` token
    (the attention sink); and attention to `sep` from `sep` rows and from all other rows.

    A high value says where the weight goes, not that the model uses it: a head that has nothing to
    do often parks its weight on `sep` or on the first token. A target that a sequence does not
    contain gives no data for it, so `n` may differ between targets, and a target that the whole
    corpus lacks is absent. The first token has no previous one and the last no next one: those
    rows count 0, so even a perfect previous-token head reaches (n − 1)/n.

    Source: Clark et al. 2019, §3.1–3.2, Figure 2. Departure: their released code counts 0 for a
    sequence without the target.

    >>> pattern = torch.tensor([[[[0.0, 1.0], [0.5, 0.5]]]])
    >>> rows = torch.full((1, 2), 0.5)
    >>> [diagonal_mean(pattern, rows, offset).item() for offset in (0, -1, 1)]
    [0.25, 0.25, 0.5]
    """

    name: ClassVar[str] = "surface"
    tables: ClassVar[tuple[str, ...]] = ("surface",)

    def look(self, view: View) -> Later[Moments]:
        queries, keys = view.queries, view.keys
        rows = view.once("surface/rows", lambda: row_classes(queries))
        targets = view.once("surface/keys", lambda: key_classes(keys))
        found = surface_attention(view.pattern, rows, targets)
        first, cls, sep, punct, other = found[:, :, 0].unbind(dim=-1)
        missing = torch.full_like(cls, torch.nan)
        if view.stack == "cross":  # queries and keys are different texts: no neighbours
            near = [missing] * 3
        else:
            near = [diagonal_mean(view.pattern, rows[:, 0], offset) for offset in (0, -1, 1)]
        first = first if view.causal else missing
        from_sep, from_other = found[:, :, 1, 2], found[:, :, 2, 2]
        values = [*near, first, cls, sep, punct, other, from_sep, from_other]
        return moments_later(torch.stack(values, dim=-1))

    def finish(self, total: Total) -> Result:
        return Result({"surface": head_table(total, TARGETS, label="target")})
