"""A small model in a folder, with a real tokenizer."""

from __future__ import annotations

from pathlib import Path

import torch
from transformers import BertConfig, BertForMaskedLM

from headscope.models import load


def write_model(folder: Path, *, n_layers: int = 2, n_heads: int = 4, hidden: int = 64) -> None:
    """A seeded BERT with a language-model head, small enough that nothing waits for it."""
    tokenizer = load("default").tokenizer
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=hidden,
        num_hidden_layers=n_layers,
        num_attention_heads=n_heads,
        intermediate_size=2 * hidden,
    )
    BertForMaskedLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
