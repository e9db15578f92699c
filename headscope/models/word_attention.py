"""Attention between words, from attention between tokens.

To a split word the weights of its tokens are summed; from a split word they are averaged. Special
tokens, and tokens outside any word, are words of their own, so every row still sums to 1.

    word[a, b] = 1/|a| · Σ_{q ∈ a} Σ_{k ∈ b} pattern[q, k]

Source: Clark et al. 2019, §4.1. Their released code takes the first token of a split word instead
of the mean: `rows="first"`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor

from headscope.models.batch import Tokens
from headscope.models.view import View
from headscope.models.word_maps import merged_maps

#: How the tokens of a split word share its row: their mean, or the first one alone.
Rows: TypeAlias = Literal["mean", "first"]


@dataclass(frozen=True, eq=False)
class WordUnits:
    """Which tokens make up which word, for one side of a batch.

    A *unit* is a word, or a token that belongs to none; units stand in the order of their first
    tokens. `words[unit]` is the index into `sequence.words`, -1 for a token outside any word and
    for padding; `real` is False on padding only. `units[token]` is a token's unit, -1 on padding.
    `members[token, unit]` is 1 where the token belongs to the unit; `firsts` is the same for the
    first token of every unit alone.
    """

    words: Int[Tensor, "batch unit"]
    real: Bool[Tensor, "batch unit"]
    units: Int[Tensor, "batch token"]
    members: Float[Tensor, "batch token unit"]
    firsts: Float[Tensor, "batch token unit"]

    def unit_of_word(self, n_words: int) -> Int[Tensor, "batch word"]:
        """The unit of every word index below `n_words`; -1 for a word without tokens here."""
        table = torch.full((len(self.words), n_words + 1), -1, device=self.words.device)
        # what is no word goes into the last column, which is cut off
        index = torch.where(self.words < 0, n_words, self.words)
        units = torch.arange(self.words.shape[1], device=self.words.device)
        return table.scatter_(1, index, units.expand_as(index))[:, :n_words]

    def row_weights(self, rows: Rows = "mean") -> Float[Tensor, "batch unit token"]:
        """Weights that turn rows of tokens into rows of words."""
        chosen = self.members if rows == "mean" else self.firsts
        return (chosen / chosen.sum(dim=1, keepdim=True).clamp(min=1.0)).transpose(1, 2)


def word_units(tokens: Tokens) -> WordUnits:
    """The units of one side of a batch.

    >>> from headscope.models import Tokens
    >>> words = torch.tensor([[-1, 0, 1, 1, -1]])      # [CLS] he play ##ed [SEP]
    >>> blank = torch.zeros_like(words)
    >>> units = word_units(Tokens(blank, blank == 0, blank, blank, words))
    >>> units.units.tolist(), units.words.tolist()
    ([[0, 1, 2, 2, 3]], [[-1, 0, 1, -1]])
    """
    device = tokens.words.device
    words, real = tokens.words.cpu().numpy(), tokens.real.cpu().numpy()
    n_batch, n_tokens = words.shape
    units = np.full((n_batch, n_tokens), -1)
    is_first = np.zeros((n_batch, n_tokens), np.bool_)
    for row in range(n_batch):
        here = words[row, real[row]]
        # a token outside any word is like a word that occurs nowhere else
        label = np.where(here < 0, -1 - np.arange(len(here)), here)
        _, first, inverse = np.unique(label, return_index=True, return_inverse=True)
        rank = np.empty(len(first), np.int64)
        rank[np.argsort(first)] = np.arange(len(first))
        units[row, : len(here)] = rank[inverse]
        is_first[row, first] = True
    n_units = int(units.max(initial=-1)) + 1
    batch, token = np.nonzero(units >= 0)
    members = np.zeros((n_batch, n_tokens, n_units), np.float32)
    members[batch, token, units[batch, token]] = 1.0
    unit_words = np.full((n_batch, n_units), -1)
    unit_words[batch, units[batch, token]] = words[batch, token]
    return WordUnits(
        words=torch.from_numpy(unit_words).to(device),
        real=torch.from_numpy(members.any(axis=1)).to(device),
        units=torch.from_numpy(units).to(device),
        members=torch.from_numpy(members).to(device),
        firsts=torch.from_numpy(members * is_first[:, :, None]).to(device),
    )


def word_attention(
    pattern: Float[Tensor, "batch head query key"],
    row_weights: Float[Tensor, "batch word query"],
    members: Float[Tensor, "batch key other"],
) -> Float[Tensor, "batch head word other"]:
    """Merge token maps to word maps, in two batched matrix products.

    >>> pattern = torch.tensor([[[[0.5, 0.25, 0.25], [0.0, 1.0, 0.0], [0.5, 0.0, 0.5]]]])
    >>> members = torch.tensor([[[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]])      # the last two are one
    >>> rows = members.transpose(1, 2) / members.sum(1)[:, :, None]
    >>> word_attention(pattern, rows, members).tolist()
    [[[[0.5, 0.5], [0.25, 0.75]]]]
    """
    n_batch, n_heads, n_query, n_key = pattern.shape
    flat = pattern.reshape(n_batch, n_heads * n_query, n_key)
    # Heads ride along as rows of both products, so that no weights are copied for every head:
    # [other, key] · [key, head · query], then [other · head, query] · [query, word].
    to_words = torch.bmm(members.transpose(1, 2), flat.transpose(1, 2))
    from_words = torch.bmm(to_words.view(n_batch, -1, n_query), row_weights.transpose(1, 2))
    return from_words.view(n_batch, -1, n_heads, row_weights.shape[1]).permute(0, 2, 3, 1)


def units_of(view: View) -> tuple[WordUnits, WordUnits]:
    """The units of a view's queries and of its keys, computed once for all layers."""
    queries = view.once("word_attention/queries", lambda: word_units(view.queries))
    if view.keys is view.queries:
        return queries, queries
    return queries, view.once("word_attention/keys", lambda: word_units(view.keys))


def row_weights_of(view: View, rows: Rows) -> Float[Tensor, "batch unit token"]:
    """What each token counts in the rows of words, computed once for all layers."""
    queries, _ = units_of(view)
    return view.once(f"word_attention/{rows}", lambda: queries.row_weights(rows))


def shares_of(view: View, rows: Rows) -> Float[Tensor, "batch token"]:
    """Each token's part in the row of the one word it belongs to, computed once for all layers."""
    return view.once(f"word_attention/{rows}/shares", lambda: row_weights_of(view, rows).sum(dim=1))


def word_pattern(view: View, rows: Rows = "mean") -> Float[Tensor, "batch head word other"]:
    """The attention of one layer between the units of `units_of(view)`.

    Rows of padding units are 0. The map is computed once for all measures of a layer; only the
    latest layer's is kept, so memory stays that of one layer.
    """
    latest: dict[Rows, tuple[int, Tensor]] = view.once("word_attention/latest", dict)
    if rows not in latest or latest[rows][0] != view.layer:
        latest[rows] = view.layer, _merged(view, rows)
    return latest[rows][1]


def word_map(
    view: View, row: int, units: NDArray[np.int64], rows: Rows = "mean"
) -> Float[Tensor, "head word word"]:
    """The attention between a few units of one sequence, without merging the others."""

    def chosen() -> tuple[Tensor, Tensor, Tensor, Tensor]:
        _, keys = units_of(view)
        here = torch.from_numpy(units).to(view.pattern.device)
        weights, members = row_weights_of(view, rows)[row, here], keys.members[row][:, here]
        sources, targets = weights.any(dim=0).nonzero()[:, 0], members.any(dim=1).nonzero()[:, 0]
        return sources, targets, weights[None, :, sources], members[None, targets]

    # the same tokens in every layer: asked once, since the answer has to come from the device
    key = f"word_attention/map/{rows}/{row}/{units.tobytes().hex()}"
    sources, targets, weights, members = view.once(key, chosen)
    few = view.pattern[row][:, sources][:, :, targets]
    return word_attention(few[None], weights, members)[0]


def _merged(view: View, rows: Rows) -> Float[Tensor, "batch head word other"]:
    """`word_attention` of all units; on the processor in one pass instead of two products."""
    queries, keys = units_of(view)
    if view.pattern.device.type != "cpu" or view.pattern.requires_grad:
        return word_attention(view.pattern, row_weights_of(view, rows), keys.members)
    found = merged_maps(
        view.pattern.numpy(),
        queries.units.numpy(),
        shares_of(view, rows).numpy(),
        keys.units.numpy(),
        (queries.words.shape[1], keys.words.shape[1]),
        torch.get_num_threads(),
    )
    return torch.from_numpy(found)
