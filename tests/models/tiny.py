"""A tiny seeded model of every supported family, and padded batches for it."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
import transformers as tf
from torch import Tensor, nn

from headscope.models import Batch, Tokens, collate
from headscope.types import Encoded, Stack, TokenKind
from headscope.types import Sequence as Text

N_VOCABULARY = 32
_SMALL = {
    "vocab_size": N_VOCABULARY,
    "hidden_size": 16,
    "num_attention_heads": 4,
    "num_hidden_layers": 3,
    "intermediate_size": 24,
    "max_position_embeddings": 40,
}
_GPT = {"vocab_size": N_VOCABULARY, "n_embd": 16, "n_head": 4, "n_layer": 3, "n_positions": 40}
_PAIR = {
    "vocab_size": N_VOCABULARY,
    "d_model": 16,
    "encoder_layers": 2,
    "decoder_layers": 3,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 24,
    "decoder_ffn_dim": 24,
    "max_position_embeddings": 40,
    "pad_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 2,
}


@dataclass(frozen=True)
class Family:
    """How to build a family, and where each stack's output projections are, by module name."""

    model: str
    options: dict[str, Any]
    projections: dict[Stack, str]
    causal: bool = False
    n_heads: dict[Stack, tuple[int, ...]] = field(default_factory=lambda: {"self": (4, 4, 4)})

    @property
    def is_pair(self) -> bool:
        return "cross" in self.projections

    def config(self) -> Any:
        return _model_class(self.model).config_class(**self.options)

    def build(self, implementation: str | None = None, model: str | None = None) -> Any:
        """The tiny model in evaluation mode; same weights whatever the implementation."""
        model_class = _model_class(model or self.model)
        chosen = {} if implementation is None else {"attn_implementation": implementation}
        torch.manual_seed(0)
        built = model_class._from_config(self.config(), **chosen).eval()
        return sharpen(built)


def _model_class(name: str) -> Any:
    with warnings.catch_warnings():
        # DeBERTa's file uses torch.jit.script, which torch deprecates
        warnings.simplefilter("ignore", DeprecationWarning)
        return getattr(tf, name)


def sharpen(model: Any) -> Any:
    """Larger seeded weights than the usual initialisation, so that heads are far from uniform."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in model.parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            parameter.copy_(0.3 * noise if parameter.ndim > 1 else parameter + 0.1 * noise)
    return model


_BERT_PROJECTION: dict[Stack, str] = {"self": r"layer\.\d+\.attention\.output\.dense"}
_BART_PROJECTIONS: dict[Stack, str] = {
    "encoder": r"encoder\.layers\.\d+\.self_attn\.out_proj",
    "decoder": r"decoder\.layers\.\d+\.self_attn\.out_proj",
    "cross": r"decoder\.layers\.\d+\.encoder_attn\.out_proj",
}
_BART_HEADS: dict[Stack, tuple[int, ...]] = {
    "encoder": (2, 2),
    "decoder": (4, 4, 4),
    "cross": (4, 4, 4),
}

FAMILIES: dict[str, Family] = {
    "bert": Family("BertModel", _SMALL, _BERT_PROJECTION),
    "electra": Family("ElectraModel", {**_SMALL, "embedding_size": 8}, _BERT_PROJECTION),
    "roberta": Family("RobertaModel", {**_SMALL, "pad_token_id": 1}, _BERT_PROJECTION),
    "distilbert": Family(
        "DistilBertModel",
        {
            "vocab_size": N_VOCABULARY,
            "dim": 16,
            "n_heads": 4,
            "n_layers": 3,
            "hidden_dim": 24,
            "max_position_embeddings": 40,
        },
        {"self": r"attention\.out_lin"},
    ),
    "albert": Family(
        "AlbertModel", {**_SMALL, "embedding_size": 8}, {"self": r"\.attention\.dense"}
    ),
    "gpt2": Family("GPT2Model", _GPT, {"self": r"attn\.c_proj"}, causal=True),
    "openai-gpt": Family("OpenAIGPTModel", _GPT, {"self": r"attn\.c_proj"}, causal=True),
    "gpt_neox": Family("GPTNeoXModel", _SMALL, {"self": r"attention\.dense"}, causal=True),
    "llama": Family(
        "LlamaModel", {**_SMALL, "num_key_value_heads": 2}, {"self": "o_proj"}, causal=True
    ),
    "qwen2": Family(
        "Qwen2Model", {**_SMALL, "num_key_value_heads": 2}, {"self": "o_proj"}, causal=True
    ),
    "modernbert": Family(
        "ModernBertModel",
        {
            **_SMALL,
            "num_hidden_layers": 4,
            "global_attn_every_n_layers": 2,
            "local_attention": 4,
            "pad_token_id": 0,
            "bos_token_id": 2,
            "cls_token_id": 2,
            "eos_token_id": 3,
            "sep_token_id": 3,
        },
        {"self": r"attn\.Wo"},
        n_heads={"self": (4, 4, 4, 4)},
    ),
    "t5": Family(
        "T5Model",
        {
            "vocab_size": N_VOCABULARY,
            "d_model": 16,
            "d_kv": 5,
            "d_ff": 24,
            "num_heads": 4,
            "num_layers": 2,
            "num_decoder_layers": 3,
        },
        {
            "encoder": r"encoder\.block\.\d+\.layer\.0\.SelfAttention\.o",
            "decoder": r"decoder\.block\.\d+\.layer\.0\.SelfAttention\.o",
            "cross": r"EncDecAttention\.o",
        },
        n_heads={"encoder": (4, 4), "decoder": (4, 4, 4), "cross": (4, 4, 4)},
    ),
    "bart": Family("BartModel", _PAIR, _BART_PROJECTIONS, n_heads=_BART_HEADS),
    "marian": Family("MarianModel", _PAIR, _BART_PROJECTIONS, n_heads=_BART_HEADS),
    "deberta-v2": Family(
        "DebertaV2Model",
        {
            **_SMALL,
            "relative_attention": True,
            "position_buckets": 8,
            "pos_att_type": ["c2p", "p2c"],
            "share_att_key": True,
        },
        _BERT_PROJECTION,
    ),
    "mpnet": Family("MPNetModel", _SMALL, {"self": r"attention\.attn\.o"}),
}


def encoded(
    n_tokens: int, seed: int, n_target: int | None = None, *, split: int = 0, types: bool = False
) -> Encoded:
    """Random tokens that are no special ones; `split` > 0 starts a second segment there.

    With a split the first token, the last and the one before the split are delimiters; `types`
    hands the segments to the model.
    """
    rng = np.random.default_rng(seed)
    segments = np.zeros(n_tokens, dtype=np.int8)
    kinds = np.zeros(n_tokens, dtype=np.int8)
    inputs: dict[str, Any] = {}
    if split:
        segments[split:] = 1
        if types:
            inputs["token_type_ids"] = segments.astype(np.int64)
        segments[[0, split - 1, -1]] = -1
        kinds[[0, split - 1, -1]] = TokenKind.CLS, TokenKind.SEP, TokenKind.SEP
    return Encoded(
        sequence=Text(f"random-{seed}", "random"),
        input_ids=rng.integers(5, N_VOCABULARY, n_tokens),
        kinds=kinds,
        segments=segments,
        words=np.full(n_tokens, -1, dtype=np.int32),
        offsets=np.zeros((n_tokens, 2), dtype=np.int32),
        model_inputs=inputs,
        target=None if n_target is None else encoded(n_target, seed + 100),
    )


def batch_for(family: Family, lengths: Sequence[int] = (9, 4, 6), *, left: bool = False) -> Batch:
    """A padded batch of random tokens for a family; `left` pads on the left (the tap alone)."""
    pad = int(family.options.get("pad_token_id", 0))
    targets = [3 + i * 2 for i in range(len(lengths))] if family.is_pair else [None] * len(lengths)
    texts = [encoded(n, i, t) for i, (n, t) in enumerate(zip(lengths, targets, strict=True))]
    batch = collate(texts, pad_id=pad)
    return _flipped(batch) if left else batch


def _flipped(batch: Batch) -> Batch:
    source = batch.source
    flipped = Tokens(
        *(getattr(source, name).flip(1) for name in ("ids", "real", "kinds", "segments", "words"))
    )
    inputs = {"input_ids": flipped.ids, "attention_mask": flipped.real.long()}
    return Batch(batch.encoded, flipped, None, inputs)


@contextmanager
def projection_inputs(model: nn.Module, family: Family) -> Iterator[dict[Stack, list[Tensor]]]:
    """What enters each stack's output projections, in the order of the calls."""
    seen: dict[Stack, list[Tensor]] = {stack: [] for stack in family.projections}
    hooks = []

    def catch(stack: Stack) -> Callable[[nn.Module, tuple[Any, ...]], None]:
        return lambda _, args: seen[stack].append(args[0].detach())

    for name, module in model.named_modules():
        for stack, pattern in family.projections.items():
            if re.search(f"{pattern}$", name):
                hooks.append(module.register_forward_pre_hook(catch(stack)))
    try:
        yield seen
    finally:
        for hook in hooks:
            hook.remove()
