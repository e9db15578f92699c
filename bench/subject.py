"""What the bench runs on: a BERT-base-shaped model with random weights, and random tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from transformers import BertConfig, BertModel

from headscope.engine import Settings
from headscope.engine.batches import length_sorted
from headscope.models import LoadedModel, collate, describe
from headscope.types import Dependencies, Encoded, TokenKind, Word
from headscope.types import Sequence as Text

RELATIONS = ("nsubj", "obj", "amod", "advmod", "det")


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
            Text(f"random:{i}", ""),
            input_ids=rng.integers(1000, 30000, n_tokens),
            kinds=kinds,
            segments=segments,
            words=np.full(n_tokens, -1, dtype=np.int32),
            offsets=np.zeros((n_tokens, 2), dtype=np.int32),
        )
        for i in range(n_sequences)
    ]


def annotated(encoded: Encoded, relations: Sequence[str] = RELATIONS) -> Encoded:
    """One word per token, each depending on the one before, so that trees and roles have work."""
    n = encoded.n_tokens - 2
    words = tuple(Word(0, 2 * i, 2 * i + 1) for i in range(n))
    labels = tuple(relations[i % len(relations)] for i in range(n))
    tree = Dependencies(tuple(range(-1, n - 1)), labels)
    sequence = replace(encoded.sequence, text="w " * n, words=words, dependencies=tree)
    index = np.concatenate([[-1], np.arange(n), [-1]]).astype(np.int32)
    return replace(encoded, sequence=sequence, words=index)


def bare_pass(model: LoadedModel, encoded: list[Encoded]) -> None:
    """The model's own eager forward pass over the batches that a pass would make."""
    with torch.inference_mode():
        for batch in length_sorted(encoded, Settings().batch_tokens):
            model.model(**collate(batch).inputs)
