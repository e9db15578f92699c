"""Sentences with gold heads as tensors over words.

Unit 0 of every sentence is ROOT, unit 1 + i its word i. ROOT stands where the model has its
special tokens: what attends to any token outside the words attends to ROOT.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from headscope.models import Batch, LoadedModel, Tap, View, collate
from headscope.models.word_attention import word_attention
from headscope.types import Encoded, Stack

ROOT = 0


@dataclass(frozen=True, eq=False)
class ParseBatch:
    """Words of several sentences: `heads` are gold units; `scored` marks the words that count.

    Punctuation does not count, nor do words whose head was cut away. `rows` are the words' places
    in the table of word vectors.
    """

    tokens: Batch
    heads: Int[Tensor, "batch unit"]
    real: Bool[Tensor, "batch unit"]
    scored: Bool[Tensor, "batch unit"]
    rows: Int[Tensor, "batch unit"]

    @property
    def candidates(self) -> Bool[Tensor, "batch unit unit"]:
        """Which units may be the head of which: ROOT and every other word."""
        n_units = self.real.shape[1]
        other = ~torch.eye(n_units, dtype=torch.bool, device=self.real.device)
        return self.real[:, None, :] & other


def is_punctuation(relation: str) -> bool:
    """Whether a relation is one of punctuation, subtypes included.

    >>> is_punctuation("punct"), is_punctuation("punct:colon"), is_punctuation("nsubj")
    (True, True, False)
    """
    return relation.partition(":")[0].lower() in ("punct", "p")


def parse_batch(
    encoded: Sequence[Encoded], model: LoadedModel, row_of: Callable[[str], int]
) -> ParseBatch:
    """Sentences as one batch; every one of them has words and dependencies."""
    n_units = 1 + max(len(e.sequence.words or ()) for e in encoded)
    heads = np.full((len(encoded), n_units), -1, np.int64)
    real = np.zeros((len(encoded), n_units), np.bool_)
    scored, rows = real.copy(), np.zeros((len(encoded), n_units), np.int64)
    for b, one in enumerate(encoded):
        tree = one.sequence.dependencies
        if tree is None or one.sequence.words is None:
            raise ValueError(f"sequence {one.sequence.id} has no dependencies")
        n = 1 + len(one.sequence.words)
        gold = np.array(tree.heads)
        real[b, :n] = True
        heads[b, 1:n] = gold + 1
        counts = [not is_punctuation(relation) for relation in tree.relations]
        scored[b, 1:n] = (gold >= -1) & counts
        rows[b, 1:n] = [row_of(one.sequence.word_text(i)) for i in range(n - 1)]
    return ParseBatch(
        collate(encoded, pad_id=model.pad_id, device=model.device),
        *(torch.from_numpy(table).to(model.device) for table in (heads, real, scored, rows)),
    )


@dataclass(frozen=True, eq=False)
class WordMaps:
    """Every head's word map, twice: both orders make one matrix product of each use.

    `by_query[batch, query, map, key]` and `by_key[batch, key, map, query]`; a map is a head, layer
    after layer.
    """

    by_query: Float[Tensor, "batch unit map unit"]
    by_key: Float[Tensor, "batch unit map unit"]


def parsing_stack(model: LoadedModel) -> Stack:
    """The stack that reads the sentence."""
    return "encoder" if model.is_encoder_decoder else "self"


def word_maps(model: LoadedModel, batch: ParseBatch) -> WordMaps:
    """One forward pass; to a word the weights of its tokens are added, from a word averaged."""
    tokens = batch.tokens.source
    n_units = batch.real.shape[1]
    unit = torch.where(tokens.real, tokens.words + 1, n_units)
    members = torch.nn.functional.one_hot(unit, n_units + 1)[..., :n_units].float()
    weights = (members / members.sum(dim=1, keepdim=True).clamp(min=1.0)).transpose(1, 2)
    stack, layers = parsing_stack(model), []

    def observer(view: View) -> None:
        if view.stack == stack:
            layers.append(word_attention(view.pattern, weights, members))

    with torch.no_grad(), Tap(model.body, observer=observer, layout=model.layout) as tap:
        tap.watch(batch.tokens)
        maps = torch.cat(layers, dim=1)
        return WordMaps(
            maps.permute(0, 2, 1, 3).contiguous(), maps.permute(0, 3, 1, 2).contiguous()
        )
