"""What the bench runs on: a BERT-base-shaped model with random weights, and random tokens."""

from __future__ import annotations

import numpy as np
import torch
from transformers import BertConfig, BertModel

from headscope.engine import Settings
from headscope.engine.batches import length_sorted
from headscope.models import LoadedModel, collate, describe
from headscope.types import Encoded, Sequence, TokenKind


def bert_base(n_layers: int = 12) -> LoadedModel:
    """12 layers × 12 heads, hidden size 768, eager attention when it is not tapped."""
    torch.manual_seed(0)
    config = BertConfig(num_hidden_layers=n_layers, attn_implementation="eager")
    model = BertModel(config, add_pooling_layer=False).eval()
    return LoadedModel(model, None, "bert-base-shaped", "", describe(model))


def sequences(n_sequences: int, n_tokens: int, seed: int = 0) -> list[Encoded]:
    """Random tokens between [CLS] and [SEP], with a period before the end."""
    rng = np.random.default_rng(seed)
    kinds = np.zeros(n_tokens, dtype=np.int8)
    kinds[0], kinds[-2], kinds[-1] = TokenKind.CLS, TokenKind.PERIOD, TokenKind.SEP
    segments = np.where(kinds == TokenKind.CLS, -1, 0).astype(np.int8)
    segments[-1] = -1
    return [
        Encoded(
            Sequence(f"random:{i}", ""),
            input_ids=rng.integers(1000, 30000, n_tokens),
            kinds=kinds,
            segments=segments,
            words=np.full(n_tokens, -1, dtype=np.int32),
            offsets=np.zeros((n_tokens, 2), dtype=np.int32),
        )
        for i in range(n_sequences)
    ]


def bare_pass(model: LoadedModel, encoded: list[Encoded]) -> None:
    """The model's own eager forward pass over the batches that a pass would make."""
    with torch.inference_mode():
        for batch in length_sorted(encoded, Settings().batch_tokens):
            model.model(**collate(batch).inputs)
