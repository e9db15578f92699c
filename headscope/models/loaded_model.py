"""A model that is ready to be measured."""

from __future__ import annotations

import hashlib
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypeAlias

import torch
from torch import nn

from headscope.errors import ModelError
from headscope.models.language_head import no_head_by_name
from headscope.models.layout import Layout

Head: TypeAlias = Literal[
    "base", "masked-lm", "causal-lm", "sequence-classification", "question-answering"
]


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A model ready to be measured: in evaluation mode, with its tokenizer and its layout.

    `head` says what stands on top of it; `headless` why there is no language-model head although
    one was wanted. `recipe` is how it was loaded, if it was: what another process needs to load the
    same one.
    """

    model: nn.Module
    tokenizer: Any
    name: str
    source: str
    layout: Layout
    head: Head = "base"
    headless: str = ""
    recipe: Mapping[str, Any] | None = field(default=None, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel to another process as a recipe, not as weights; without a recipe, as weights.

        Whoever loads it there finds out whether the weights are the same: a folder may hold other
        ones on another machine.
        """
        if self.recipe is None:
            return LoadedModel, tuple(getattr(self, one.name) for one in fields(self))
        return _load_again, (dict(self.recipe), self.fingerprint())

    @property
    def family(self) -> str:
        return str(getattr(self.config, "model_type", type(self.model).__name__))

    @property
    def config(self) -> Any:
        return self.model.config

    @property
    def body(self) -> nn.Module:
        """The model without its language-model head: what a pass that needs no loss runs."""
        has_head = self.head in ("masked-lm", "causal-lm")
        body = getattr(self.model, "base_model", None) if has_head else None
        return body if isinstance(body, nn.Module) else self.model

    @property
    def no_loss(self) -> str:
        """Why there is no loss to differentiate; "" if there is one."""
        if self.head not in ("masked-lm", "causal-lm"):
            return self.headless or no_head_by_name(self.config) or "it was loaded without a head"
        if self.head == "masked-lm" and getattr(self.tokenizer, "mask_token_id", None) is None:
            return "its tokenizer has no mask token"
        return ""

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device

    @property
    def dtype(self) -> str:
        return str(next(self.model.parameters()).dtype).removeprefix("torch.")

    @property
    def n_parameters(self) -> int:
        return sum(p.numel() for p in self.model.parameters())

    @property
    def is_encoder_decoder(self) -> bool:
        return bool(getattr(self.config, "is_encoder_decoder", False))

    @property
    def pad_id(self) -> int:
        for owner in (self.tokenizer, self.config):
            pad = getattr(owner, "pad_token_id", None)
            if isinstance(pad, int):
                return pad
        return 0

    @property
    def decoder_start_id(self) -> int:
        """What a decoder's input begins with."""
        for name in ("decoder_start_token_id", "bos_token_id", "pad_token_id"):
            start = getattr(self.config, name, None)
            if isinstance(start, int):
                return start
        raise ModelError(f"{self.name} does not say with which token its decoder begins")

    @property
    def max_tokens(self) -> int:
        """The longest sequence the model takes: the tokenizer's word, within the positions."""
        limits = [512] if self.is_encoder_decoder else []
        told = getattr(self.tokenizer, "model_max_length", None)
        if isinstance(told, int) and 0 < told < 10**9:
            limits = [told]
        positions = [
            getattr(self.config, name, None)
            for name in ("max_position_embeddings", "n_positions", "max_sequence_length")
        ]
        known = [p for p in positions if isinstance(p, int) and p > 0]
        if known:
            limits.append(min(known) - _first_position(self.model))
        return min(limits, default=512)

    def fingerprint(self) -> str:
        """SHA-256 over names, shapes, types and bytes of all weights: same weights, same value."""
        digest = hashlib.sha256(str(self.family).encode())
        for name, tensor in sorted(self.model.state_dict().items()):
            digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}".encode())
            flat = tensor.detach().cpu().contiguous().flatten()
            if flat.numel():
                digest.update(flat.view(torch.uint8).numpy())
        return digest.hexdigest()


def _load_again(recipe: Mapping[str, Any], fingerprint: str) -> LoadedModel:
    """The model of a recipe, refused if its weights are not those that were meant."""
    from headscope.models.loading import load

    loaded = load(**recipe)
    if loaded.fingerprint() != fingerprint:
        raise ModelError(
            f"{recipe['model']} holds other weights on {socket.gethostname()} than where the "
            "command was started; expected one file system, or the same files, on all machines"
        )
    return loaded


def _first_position(model: nn.Module) -> int:
    """0, or padding_idx + 1 where positions are numbered from there (RoBERTa and its like)."""
    tables = (m for name, m in model.named_modules() if name.endswith("position_embeddings"))
    padding = (getattr(table, "padding_idx", None) for table in tables)
    return max((index + 1 for index in padding if index is not None), default=0)
