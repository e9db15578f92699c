"""Find out what attention a model has by watching one tiny forward pass."""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import torch
from torch import Tensor, nn

from headscope.errors import ModelError
from headscope.models.adapters import ADAPTERS
from headscope.models.layout import Layout, StackLayout
from headscope.models.seam import attach, no_cache
from headscope.types import Stack

#: Families whose weights, outputs and z are tested against transformers' own eager attention.
TESTED_FAMILIES = (
    "bert", "electra", "roberta", "distilbert", "albert", "gpt2", "gpt_neox", "llama", "qwen2",
    "modernbert", "t5", "bart", "marian", *ADAPTERS,
)  # fmt: skip

# Different lengths tell the stacks of an encoder–decoder apart by the shape of their maps.
_N_SOURCE, _N_TARGET = 5, 3

#: The layers an attention module stands for: one, or several where layers share it.
Places: TypeAlias = Mapping[nn.Module, tuple[tuple[Stack, int], ...]]

_DESCRIBED: weakref.WeakKeyDictionary[nn.Module, tuple[Layout, Places]] = (
    weakref.WeakKeyDictionary()
)


class _Call(NamedTuple):
    module: nn.Module
    stack: Stack
    n_heads: int
    causal: bool


@dataclass
class _Witness:
    """Stands in for a tap and writes down every attention call of the tiny pass."""

    is_pair: bool
    calls: list[_Call] = field(default_factory=list)

    def enter(self, module: nn.Module, weights: Tensor, allowed: Tensor | None) -> None:
        n_heads, n_query, n_key = weights.shape[1:]
        stack: Stack = "self"
        if self.is_pair:
            stack = "cross" if n_query != n_key else "encoder"
            stack = "decoder" if (n_query, n_key) == (_N_TARGET, _N_TARGET) else stack
        # softmax gives exactly 0 above the diagonal only where a causal mask forbids it
        causal = n_query == n_key and not bool(weights.triu(1).any())
        self.calls.append(_Call(module, stack, n_heads, causal))

    def edit(self, weights: Tensor, site: None) -> Tensor:
        return weights

    def deliver(self, weights: Tensor, z: Tensor, site: None) -> None:
        pass


def describe(model: nn.Module) -> Layout:
    """The stacks, layers and heads of a model, or a clear refusal.

    One forward pass over five tokens shows every attention call; the model is left as it was.
    """
    return _description(model)[0]


def places(model: nn.Module) -> Places:
    """Which layers each attention module of a model is."""
    return _description(model)[1]


def _description(model: nn.Module) -> tuple[Layout, Places]:
    if model not in _DESCRIBED:
        calls = _watch(model)
        _DESCRIBED[model] = _layout(calls), _places(calls)
    return _DESCRIBED[model]


def _watch(model: nn.Module) -> list[_Call]:
    config: Any = getattr(model, "config", None)
    if config is None:
        raise ModelError("expected a transformers model (a module with a config)")
    family = getattr(config, "model_type", type(model).__name__)
    is_pair = bool(getattr(config, "is_encoder_decoder", False))
    witness = _Witness(is_pair)
    device = next(model.parameters(), torch.zeros(())).device
    inputs = _tiny_inputs(config, family, is_pair, device)
    with ExitStack() as undo:
        attach(model, witness, undo)
        undo.enter_context(torch.random.fork_rng([device] if device.type == "cuda" else []))
        undo.enter_context(torch.no_grad())
        _evaluate(model, undo)
        try:
            model(**inputs, **no_cache(model))
        except Exception as error:
            if not witness.calls:
                raise ModelError(_refusal(family)) from error
            raise ModelError(
                f"the attention of {family!r} cannot be tapped: {error}; {_supported()}"
            ) from error
    if not witness.calls:
        raise ModelError(_refusal(family))
    return witness.calls


def _evaluate(model: nn.Module, undo: ExitStack) -> None:
    """Switch off dropout and dropped layers; `undo` puts every module back in its own mode."""
    for module in model.modules():
        undo.callback(setattr, module, "training", module.training)
        module.training = False


def _layout(calls: list[_Call]) -> Layout:
    stacks: list[StackLayout] = []
    for stack in dict.fromkeys(call.stack for call in calls):
        own = [call for call in calls if call.stack == stack]
        n_heads = tuple(call.n_heads for call in own)
        stacks.append(StackLayout(stack, n_heads, all(call.causal for call in own)))
    return Layout(tuple(stacks))


def _places(calls: list[_Call]) -> Places:
    found: weakref.WeakKeyDictionary[nn.Module, tuple[tuple[Stack, int], ...]] = (
        weakref.WeakKeyDictionary()
    )
    n_layers: Counter[Stack] = Counter()
    for call in calls:
        found[call.module] = (*found.get(call.module, ()), (call.stack, n_layers[call.stack]))
        n_layers[call.stack] += 1
    return found


def _tiny_inputs(
    config: Any, family: str, is_pair: bool, device: torch.device
) -> dict[str, Tensor]:
    """A few ordinary tokens: not padding, which some families mask on their own."""
    vocab = int(getattr(config, "vocab_size", 0) or 0)
    ids = [i for i in range(min(vocab, 16)) if i != getattr(config, "pad_token_id", None)]
    if not ids:
        raise ModelError(f"{family!r} reads no text tokens; {_supported()}")
    ids = (ids * _N_SOURCE)[:_N_SOURCE]
    eos = getattr(config, "eos_token_id", None)
    if isinstance(eos, int) and 0 <= eos < vocab:
        ids[-1] = eos  # some classification heads look for exactly one
    inputs = {"input_ids": torch.tensor([ids], device=device)}
    inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
    if is_pair:
        inputs["decoder_input_ids"] = inputs["input_ids"][:, :_N_TARGET]
    return inputs


def _supported() -> str:
    return (
        f"supported: {', '.join(TESTED_FAMILIES)}, and any other text model whose attention goes "
        "through transformers' AttentionInterface"
    )


def _refusal(family: str) -> str:
    return f"no attention of {family!r} can be tapped; {_supported()}"
