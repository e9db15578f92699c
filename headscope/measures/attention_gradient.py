"""How much the loss would change if a head attended differently."""

from __future__ import annotations

from typing import ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headscope.measures.measure import MEASURES, GradientMeasure, Total
from headscope.measures.per_sequence import head_table, moments_of
from headscope.measures.surface_attention import key_classes
from headscope.models import View
from headscope.types import Result
from headscope.values import Moments

TARGETS = ("first", "cls", "sep", "punct", "other")


def mean_magnitude(
    gradient: Float[Tensor, "batch head query key"],
    seen: Bool[Tensor, "batch 1 query key"],
    keys: Float[Tensor, "batch key target"],
) -> Float[Tensor, "batch head target"]:
    """Mean of |gradient| over a row's keys of a class that it may see, then over such rows.

    NaN where a sequence has no such pair.
    """
    classes = keys.nan_to_num(0.0)[:, None]
    shown = seen.to(gradient.dtype)
    n_keys = shown @ classes
    rows = ((gradient.abs() * shown) @ classes) / n_keys.clamp(min=1.0)
    return rows.sum(dim=2) / (n_keys > 0).sum(dim=2)


@MEASURES.register("gradient")
class AttentionGradient(GradientMeasure):
    """How much the model's own loss reacts to a head's attention to delimiters and other tokens.

    For a sequence with the loss L, and a class of keys T:

        value = mean over rows q, mean over keys k ∈ T that q may see, of |∂L / ∂pattern[q, k]|

    then the mean over sequences. Classes are `cls`, `sep`, `punct` (periods and commas) and
    `other`, and in causal stacks the `first` token, which is also counted in its own class.

    L is the loss the model was trained on, averaged over the tokens of the sequence that are
    predicted. Masked models: 15 % of the tokens, delimiters never; 80 % of them are read as
    [MASK], 10 % as another token, 10 % as they are (Devlin et al. 2019), chosen by `seed` and the
    sequence's id; a masked period is read as no period and counts as `other`. Causal models:
    every token but the first. The weight is varied alone: the rest of its row does not make room.

    A small value says that looking there more or less changes little, as for a head that rests on
    [SEP]; it does not say that the head is useless, for the same head may matter elsewhere. Values
    fall with the length of a sequence, as each of its tokens has less to say: compare heads and
    classes on one corpus, not corpora or models.

    It takes a backward pass, several times the rest of a run, and so is not computed unless asked
    for (`--measures gradient`, or `--measures all`). A model without a language-model head is
    refused.

    Source: Clark et al. 2019, §3.2, Figure 3. Departures: the mean over a sequence is taken before
    the mean over sequences; the paper does not say how its losses were averaged.

    >>> gradient = torch.tensor([[[[1.0, -3.0], [-2.0, 0.0]]]])
    >>> keys = torch.tensor([[[1.0, 0.0], [0.0, 1.0]]])
    >>> mean_magnitude(gradient, torch.ones(1, 1, 2, 2, dtype=torch.bool), keys)
    tensor([[[1.5000, 1.5000]]])
    >>> mean_magnitude(gradient, torch.ones(1, 1, 2, 2, dtype=torch.bool).tril(), keys)
    tensor([[[1.5000, 0.0000]]])
    """

    name: ClassVar[str] = "gradient"
    tables: ClassVar[tuple[str, ...]] = ("gradient",)

    def observe(self, view: View) -> Moments:
        targets = view.once("gradient/keys", lambda: key_classes(view.keys))
        real = view.queries.real[:, None, :, None] & view.keys.real[:, None, None, :]
        found = mean_magnitude(view.gradient, view.allowed & real, targets)
        if not view.causal:
            found[:, :, 0] = torch.nan
        return moments_of(found)

    def finish(self, total: Total) -> Result:
        return Result({"gradient": head_table(total, TARGETS, label="target", mean="mean_abs")})
