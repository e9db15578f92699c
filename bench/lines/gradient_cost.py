"""What the gradient of a masked-language-model loss costs beside the bare forward pass."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from transformers import BertConfig, BertForMaskedLM, PreTrainedTokenizerFast

from bench.ratio import Line, compared
from bench.subject import sequences
from headscope.engine import Settings
from headscope.engine.shard import run_shard
from headscope.measures import build
from headscope.models import collate, load


def lines() -> Iterator[Line]:
    from tokenizers import Tokenizer, models

    torch.manual_seed(0)
    words = Tokenizer(models.WordLevel({"[PAD]": 0, "[MASK]": 103}, "[PAD]"))
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=words, mask_token="[MASK]", pad_token="[PAD]"
    )
    model = load(BertForMaskedLM(BertConfig(attn_implementation="eager")), tokenizer)
    encoded, measures = sequences(8, 128), [build("gradient")]

    def ours() -> None:
        run_shard(model, measures, encoded, Settings())

    def bare() -> None:
        with torch.inference_mode():
            model.body(**collate(encoded).inputs)

    name = "gradient alone / bare eager forward, 128 tokens"
    yield compared(name, ours, bare, 3.5, rounds=3)
