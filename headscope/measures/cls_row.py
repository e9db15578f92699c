"""What the [CLS] token looks at."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor

from headscope.measures.later import Later
from headscope.measures.measure import MEASURES, LayerMeasure, Total
from headscope.measures.negation_words import Language
from headscope.measures.per_sequence import head_table, mean_weights
from headscope.measures.token_classes import CLASSES, classes_of_keys
from headscope.models import StackLayout, View
from headscope.types import Result, TokenKind
from headscope.values import Bundle, Moments

TARGETS = (*CLASSES, "punct", "other")


def targets_of_keys(view: View, language: Language) -> Float[Tensor, "batch key target"]:
    """1 where a key is of a target's kind; NaN for targets that a sequence does not have.

    `other` is what is neither a delimiter nor a period or comma.
    """
    keys = view.keys
    punct = keys.is_kind(TokenKind.PERIOD, TokenKind.COMMA)
    other = keys.is_kind(TokenKind.OTHER)
    classes = torch.cat(
        [classes_of_keys(view, language), punct[..., None], other[..., None]], dim=-1
    )
    return classes.to(torch.float32).masked_fill(~classes.any(dim=1, keepdim=True), torch.nan)


def _both(found: NDArray[np.float64], even: NDArray[np.float64]) -> Bundle:
    return Bundle({"found": Moments.of(found), "even": Moments.of(even)})


@MEASURES.register("cls_row")
class ClsRow(LayerMeasure):
    """The share of the [CLS] row's attention that goes to each kind of token.

        value = Σ_{k ∈ F} pattern[cls, k]

    then the mean over the sequences that have such a token, with a 95 % interval. Kinds are those
    of `features`, with `punct` (periods and commas) and `other` (all that is neither a delimiter
    nor one of these). `cls`, `sep`, `punct` and `other` share out all attention; the linguistic
    kinds overlap with `other` and with each other. The column `even` is what even attention would
    give, |F|/n: nouns are many, so a large share need not be a preference.

    What the last layer's [CLS] row sees is what a classifier on top of [CLS] is fed directly; it
    does not say what it uses. Models without [CLS] have no rows.

    Source: Kovaleva et al. 2019, §4.5, "Token-to-token attention", and its figure of the [CLS]
    token's attention in the last layer. Departure: the paper does not say whether it adds up the
    tokens of a kind or takes the largest; here they are added up, so that shares compare.
    """

    name: ClassVar[str] = "cls_row"
    tables: ClassVar[tuple[str, ...]] = ("cls_row",)

    language: Language = Field("en", description="whose negation words: en, de, fr, es")

    def applies_to(self, stack: StackLayout) -> bool:
        return stack.stack in ("self", "encoder") and not stack.causal

    def look(self, view: View) -> Later[Bundle]:
        queries, keys = view.queries, view.keys
        targets = view.once(
            f"cls_row/targets/{self.language}", lambda: targets_of_keys(view, self.language)
        )
        rows = view.once(
            "cls_row/rows", lambda: mean_weights(queries.is_kind(TokenKind.CLS))[:, None, None]
        )
        even = view.once(
            f"cls_row/even/{self.language}",
            lambda: targets.sum(dim=1) / keys.n_real[:, None] + 0 * rows[:, 0, 0, :1],
        )
        found = (rows @ view.pattern).squeeze(2) @ targets
        return Later((found, even), _both)

    def finish(self, total: Total) -> Result:
        found = {place: value.part("found", Moments) for place, value in total.of(Bundle)}
        even = {
            place.stack: dict(zip(TARGETS, value.part("even", Moments).mean, strict=True))
            for place, value in total.of(Bundle)
        }
        table = dict(head_table(Total(total.layout, found), TARGETS, label="target"))
        table["even"] = [
            float(even[stack][target])
            for stack, target in zip(table["stack"], table["target"], strict=True)
        ]
        return Result({"cls_row": table})
