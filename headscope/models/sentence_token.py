"""Which token of a sequence stands for the whole of it."""

from __future__ import annotations

from typing import Literal, TypeAlias

from jaxtyping import Bool, Float
from torch import Tensor

from headscope.models.loaded_model import LoadedModel
from headscope.types import Stack

#: The first token, the last one that is not padding, or the mean of all that are not.
Pooling: TypeAlias = Literal["first", "last", "mean"]
POOLINGS: tuple[Pooling, ...] = ("first", "last", "mean")


def pooled(
    values: Float[Tensor, "batch *unit token d"], real: Bool[Tensor, "batch token"], how: Pooling
) -> Float[Tensor, "batch *unit d"]:
    """The vector of every sequence: of its first real token, its last one, or their mean.

    Where the padding stands, left or right, makes no difference: tokens are found by `real`.
    Source: Jo & Myaeng (2020), §4.1 (first for BERT-like models, last for GPT-like ones).

    >>> import torch
    >>> values = torch.tensor([[[1.0], [2.0], [3.0]], [[1.0], [2.0], [3.0]]])
    >>> real = torch.tensor([[True, True, False], [False, True, True]])
    >>> pooled(values, real, "last").tolist(), pooled(values, real, "first").tolist()
    ([[2.0], [3.0]], [[1.0], [2.0]])
    """
    n_units = values.ndim - 3
    if how == "mean":
        weights = real / real.sum(dim=1, keepdim=True)
        return (values * weights.reshape(len(real), *[1] * n_units, -1, 1)).sum(dim=-2)
    # argmax finds the first of equals
    at = real.int().argmax(dim=1)
    if how == "last":
        at = real.shape[1] - 1 - real.flip(1).int().argmax(dim=1)
    where = at.reshape(len(at), *[1] * (n_units + 2)).expand(
        *values.shape[:-2], 1, values.shape[-1]
    )
    return values.gather(-2, where).squeeze(-2)


def reading_stack(model: LoadedModel) -> Stack:
    """The stack that reads the text: the only one, or the encoder."""
    return "encoder" if model.is_encoder_decoder else "self"


def default_pooling(model: LoadedModel) -> Pooling:
    """Last for causal models, first where texts begin with a token made for it, else the mean.

    T5's encoder is of the third kind: its first token is a word like any other.
    """
    if model.layout[reading_stack(model)].causal:
        return "last"
    return "first" if getattr(model.tokenizer, "cls_token_id", None) is not None else "mean"
