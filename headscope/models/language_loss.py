"""The loss a language model was trained on, sequence by sequence.

Masked (BERT and its like): 15 % of a sequence's tokens are chosen, delimiters never, at least one
always; of these 80 % become [MASK], 10 % another token of the vocabulary, 10 % stay; the loss is
the mean of −ln p(token) over the chosen ones (Devlin et al. 2019, §3.1). Which tokens are chosen
depends on the seed and the sequence's id alone, so batches and shards do not matter.

Causal: the mean of −ln p(token | tokens before it) over all tokens but the first.

The losses of a batch are *added*: no sequence's gradient depends on its neighbours in the batch.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from headscope.models.batch import Batch
from headscope.models.loaded_model import LoadedModel
from headscope.types import Encoded, TokenKind

#: A position without a label.
NO_LABEL = -100


@dataclass(frozen=True, slots=True)
class LanguageLoss:
    """How tokens are masked; a causal loss has nothing to choose."""

    masking: float = 0.15
    seed: int = 0

    def fits(self, model: LoadedModel, encoded: Encoded) -> bool:
        """Whether a sequence has anything to predict."""
        if model.head == "causal-lm":
            return encoded.n_tokens >= 2
        return bool((encoded.segments >= 0).any())

    def inputs(self, model: LoadedModel, batch: Batch) -> tuple[Batch, Int[Tensor, "batch token"]]:
        """The batch as the model is to read it, and the label of every position."""
        if model.head == "causal-lm":
            real = batch.source.real
            labels = torch.full_like(batch.source.ids, NO_LABEL)
            labels[:, :-1] = batch.source.ids[:, 1:].masked_fill(~real[:, 1:], NO_LABEL)
            return batch, labels
        vocabulary = _ordinary_tokens(model)
        ids, kinds = batch.source.ids.clone(), batch.source.kinds.clone()
        labels = torch.full_like(ids, NO_LABEL)
        for row, encoded in enumerate(batch.encoded):
            chosen, read = masked(
                encoded, self, mask_id=model.tokenizer.mask_token_id, vocabulary=vocabulary
            )
            at = torch.from_numpy(chosen).to(ids.device)
            new = torch.from_numpy(read).to(ids.device)
            labels[row, at] = ids[row, at]
            # what is no longer there cannot be attended to as a period or a comma
            kinds[row, at] = kinds[row, at].where(new == ids[row, at], int(TokenKind.OTHER))
            ids[row, at] = new
        source = replace(batch.source, ids=ids, kinds=kinds)
        inputs = {**batch.inputs, "input_ids": ids}
        return Batch(batch.encoded, source, batch.target, inputs, batch.facts), labels


def masked(
    encoded: Encoded, loss: LanguageLoss, *, mask_id: int, vocabulary: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The positions that are to be predicted, and what the model reads there instead."""
    key = hashlib.sha256(f"{loss.seed}/{encoded.sequence.id}".encode()).digest()
    random = np.random.default_rng(int.from_bytes(key[:8], "little"))
    candidates = np.flatnonzero(encoded.segments >= 0)
    n_chosen = max(1, round(loss.masking * len(candidates)))
    chosen = np.sort(random.choice(candidates, n_chosen, replace=False))
    roll, other = random.random(n_chosen), random.choice(vocabulary, n_chosen)
    read = np.where(roll < 0.8, mask_id, np.where(roll < 0.9, other, encoded.input_ids[chosen]))
    return chosen, read.astype(np.int64)


def sequence_losses(
    logits: Float[Tensor, "batch token vocabulary"], labels: Int[Tensor, "batch token"]
) -> Float[Tensor, " batch"]:
    """The mean of −ln p(label) over each sequence's labelled positions.

    >>> logits = torch.log(torch.tensor([[[0.5, 0.5], [0.9, 0.1], [0.2, 0.8]]]))
    >>> sequence_losses(logits, torch.tensor([[0, NO_LABEL, 1]])).round(decimals=4)
    tensor([0.4581])
    """
    known = labels != NO_LABEL
    lost = functional.cross_entropy(logits[known].float(), labels[known], reduction="none")
    row = known.nonzero()[:, 0]
    total = torch.zeros(len(labels), dtype=lost.dtype, device=lost.device)
    return total.index_add(0, row, lost) / known.sum(dim=1)


def _ordinary_tokens(model: LoadedModel) -> NDArray[np.int64]:
    size = int(model.config.vocab_size)
    return np.setdiff1d(np.arange(size), np.array(model.tokenizer.all_special_ids, dtype=np.int64))
