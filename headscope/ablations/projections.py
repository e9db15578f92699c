"""Where the heads of a layer leave it: the output projection, found by watching."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from headscope.errors import ModelError
from headscope.models import LoadedModel, Tap, View, collate
from headscope.types import Encoded, Sequence, Stack

Where: TypeAlias = tuple[Stack, int]


def output_projections(model: LoadedModel) -> Mapping[Where, nn.Module]:
    """The module of every layer that is given the merged heads, and nothing else.

    Watched in one small pass: the projection is the one whose input is z, head beside head. Layers
    that share their weights share it. A layer without one is a `ModelError`.
    """
    given: list[tuple[nn.Module, Tensor]] = []
    found: dict[Where, nn.Module] = {}
    views: list[View] = []
    with ExitStack() as undo, torch.inference_mode():
        for module in model.model.modules():
            if isinstance(module, nn.Linear | Conv1D):
                hook = module.register_forward_pre_hook(
                    lambda m, args: given.append((m, args[0])) if args else None
                )
                undo.callback(hook.remove)
        tap = undo.enter_context(Tap(model.model, observer=views.append, layout=model.layout))
        tap.forward(collate([_few_tokens(model)], pad_id=model.pad_id, device=model.device))
    at = 0  # layers come one after the other, and two of them may see the same
    for view in views:
        merged = view.z.transpose(1, 2).flatten(2)
        for i, (module, x) in enumerate(given[at:], at):
            if x.shape == merged.shape and torch.equal(x.float(), merged):
                found[view.stack, view.layer], at = module, i + 1
                break
        else:
            raise ModelError(
                f"the output projection of layer {view.layer + 1} of {model.name} was not found: "
                "its heads cannot be removed"
            )
    return found


def _few_tokens(model: LoadedModel) -> Encoded:
    """Some ordinary tokens, for both sides of an encoder–decoder."""
    special = set(getattr(model.tokenizer, "all_special_ids", ()))
    vocabulary = min(int(model.config.vocab_size), 200)
    ids = [i for i in range(vocabulary) if i not in special and i != model.pad_id][:7]
    eos = getattr(model.config, "eos_token_id", None)
    if isinstance(eos, int) and eos < int(model.config.vocab_size):
        ids[-1] = eos

    def side(chosen: list[int]) -> Any:
        n = len(chosen)
        return Encoded(
            sequence=Sequence("few", "few"),
            input_ids=np.array(chosen, np.int64),
            kinds=np.zeros(n, np.int8),
            segments=np.zeros(n, np.int8),
            words=np.full(n, -1, np.int32),
            offsets=np.zeros((n, 2), np.int32),
        )

    one: Encoded = side(ids)
    if not model.is_encoder_decoder:
        return one
    from dataclasses import replace

    return replace(one, target=side([model.decoder_start_id, *ids[:4]]))
