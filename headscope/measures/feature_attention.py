"""How much attention nouns, verbs, subjects, negation and delimiters draw."""

from __future__ import annotations

from typing import ClassVar

import torch
from jaxtyping import Bool, Float
from pydantic import Field
from torch import Tensor

from headscope.measures.later import Later, moments_later
from headscope.measures.measure import MEASURES, LayerMeasure, Total
from headscope.measures.negation_words import Language
from headscope.measures.per_sequence import head_table, mean_weights
from headscope.measures.token_classes import CLASSES, classes_of_keys
from headscope.models import View
from headscope.types import Result
from headscope.values import Moments


def strongest_column(
    received: Float[Tensor, "batch head key"], classes: Bool[Tensor, "batch key class"]
) -> Float[Tensor, "batch head class"]:
    """Per class the greatest of its tokens' numbers; NaN where a sequence has no such token."""
    chosen = classes.transpose(1, 2)[:, None]
    greatest = received[:, :, None].masked_fill(~chosen, -torch.inf).amax(dim=-1)
    return greatest.masked_fill(torch.isneginf(greatest), torch.nan)


@MEASURES.register("features")
class FeatureAttention(LayerMeasure):
    """How much of all rows' attention the strongest token of a kind draws.

    For a sequence of n tokens and a set F of tokens of one kind:

        value = max_{k ∈ F} 1/n · Σ_q pattern[q, k]

    then the mean over the sequences that have such a token, with a 95 % interval. Kinds are
    `noun` (proper nouns included), `verb`, `pronoun` by part of speech; `subject` (nsubj and its
    subtypes) and `object` (obj, dobj) by dependency; `negation` by a word list of the language,
    whole words only; `cls` and `sep`. Every token of a split word counts on its own. A kind that
    the corpus's annotations cannot tell is absent.

    A high value is a vertical stripe on such a token, which may be there for other reasons: with
    more tokens of a kind the maximum grows by chance, so compare a kind between heads or models,
    not kinds with each other. Even attention gives 1/n. In causal models a token is not seen by
    those before it, so late tokens have less to draw.

    Source: Kovaleva et al. 2019, §4.4, "Attention to linguistic features". They do not give their
    word list for negation; ours is in `negation_words`.

    >>> received = torch.tensor([[[0.1, 0.6, 0.3]]])
    >>> classes = torch.tensor([[[True, False], [False, False], [True, False]]])
    >>> strongest_column(received, classes)
    tensor([[[0.3000,    nan]]])
    """

    name: ClassVar[str] = "features"
    tables: ClassVar[tuple[str, ...]] = ("features",)

    language: Language = Field("en", description="whose negation words: en, de, fr, es")

    def look(self, view: View) -> Later[Moments]:
        queries = view.queries
        rows = view.once("features/rows", lambda: mean_weights(queries.real)[:, None, None, :])
        received = (rows @ view.pattern).squeeze(2)
        return moments_later(strongest_column(received, classes_of_keys(view, self.language)))

    def finish(self, total: Total) -> Result:
        return Result({"features": head_table(total, CLASSES, label="feature")})
