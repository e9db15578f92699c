"""The seam between transformers' attention and whoever watches it.

A function registered with transformers' `AttentionInterface`, and its mask twin, stand in for the
attention of a tapped model. The function lets the model family's own eager function compute the
weights (so soft caps, sinks and position biases are right by construction), lets the watcher edit
and see them, and lets go of them. Families outside the interface come in through `adapters`.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, Protocol, TypeAlias, cast

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from transformers import AttentionInterface, PreTrainedConfig
from transformers.masking_utils import AttentionMaskInterface, eager_mask

from headscope.errors import ModelError, UsageError
from headscope.models.adapters import attach_adapters

IMPLEMENTATION = "headscope"

Weights: TypeAlias = Float[Tensor, "batch head query key"]
Allowed: TypeAlias = Bool[Tensor, "batch 1 query key"]


class Watcher(Protocol):
    """What the seam calls at every attention call, in this order."""

    def enter(self, module: nn.Module, weights: Weights, allowed: Allowed | None) -> Any:
        """Say where `module` is; `allowed` is None where an adapter cannot know the mask."""

    def edit(self, weights: Weights, site: Any) -> Weights:
        """The weights the model shall use: the same tensor, or another one."""

    def deliver(
        self, weights: Weights, z: Float[Tensor, "batch head query d_head"], site: Any
    ) -> None:
        """See the weights that were used and the heads' outputs."""


#: Every module of a tapped model, so that the registered function finds its watcher.
_TAPPED: weakref.WeakKeyDictionary[nn.Module, Watcher] = weakref.WeakKeyDictionary()


def _tapped_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    **kwargs: Any,
) -> tuple[Tensor, Tensor | None]:
    """Stand in for the attention function of a tapped model."""
    watcher = _TAPPED.get(module)
    eager = _eager_of(module)
    if watcher is None:  # a model that only shares its config with the tapped one
        return eager(module, query, key, value, attention_mask, **kwargs)
    dtype, mask = query.dtype, attention_mask
    if dtype in (torch.float16, torch.bfloat16):
        # half-precision models are measured in float32
        query, key, value = query.float(), key.float(), value.float()
        mask = None if mask is None else mask.float()
        if kwargs.get("position_bias") is not None:
            kwargs["position_bias"] = kwargs["position_bias"].float()
    output, weights = eager(module, query, key, value, mask, **kwargs)
    # from the mask as it came: float16's lowest number is not low in float32
    site = watcher.enter(module, weights, _allowed(attention_mask, weights))
    edited = watcher.edit(weights, site)
    if edited is not weights:
        weights = edited
        values = value.repeat_interleave(weights.shape[1] // value.shape[1], dim=1)
        output = (weights.to(value.dtype) @ values).transpose(1, 2).contiguous()
    watcher.deliver(weights, output.transpose(1, 2), site)
    return output.to(dtype), None


def _eager_of(module: nn.Module) -> Callable[..., tuple[Tensor, Tensor]]:
    """The eager attention function of the file that defines the module's class."""
    for cls in type(module).__mro__:
        eager = getattr(sys.modules.get(cls.__module__), "eager_attention_forward", None)
        if eager is not None:
            return cast("Callable[..., tuple[Tensor, Tensor]]", eager)
    raise ModelError(f"{type(module).__name__} has no eager attention function to measure")


def _allowed(mask: Tensor | None, weights: Weights) -> Allowed:
    """Which keys each query may see, from the additive mask of eager attention."""
    batch, _, n_query, n_key = weights.shape
    if mask is None:
        return torch.ones((), dtype=torch.bool, device=weights.device).expand(
            batch, 1, n_query, n_key
        )
    allowed = mask if mask.dtype == torch.bool else mask > torch.finfo(mask.dtype).min / 2
    # a mask may differ between heads (it does not in any family we know): keep what any head sees
    allowed = allowed.any(dim=1, keepdim=True) if allowed.shape[1] > 1 else allowed
    return allowed[..., :n_key].expand(batch, 1, n_query, n_key)


AttentionInterface.register(IMPLEMENTATION, _tapped_attention)
AttentionMaskInterface.register(IMPLEMENTATION, eager_mask)


def attach(model: nn.Module, watcher: Watcher, undo: ExitStack) -> None:
    """Route every attention call of `model` to `watcher`; `undo` puts everything back."""
    if not isinstance(model, nn.Module) or getattr(model, "config", None) is None:
        raise ModelError("expected a transformers model (a module with a config)")
    if any(module in _TAPPED for module in model.modules()):
        raise UsageError("this model is tapped already; close the other tap first")
    configs = list(_configs(model))
    if any(config._attn_implementation_internal == IMPLEMENTATION for config in configs):
        raise UsageError("a model with the same config object is tapped; close that tap first")

    def forget() -> None:
        for module in model.modules():
            _TAPPED.pop(module, None)

    undo.callback(forget)
    for module in model.modules():
        _TAPPED[module] = watcher
    for config in configs:
        before = config._attn_implementation_internal
        undo.callback(setattr, config, "_attn_implementation_internal", before)
        config._attn_implementation_internal = IMPLEMENTATION
    attach_adapters(model, watcher, undo)


def _configs(model: nn.Module) -> Iterator[PreTrainedConfig]:
    """Every distinct config inside a model; encoder and decoder often have copies of their own."""
    seen: set[int] = set()
    queue: list[Any] = [getattr(m, "config", None) for m in model.modules()]
    while queue:
        config = queue.pop()
        if not isinstance(config, PreTrainedConfig) or id(config) in seen:
            continue
        seen.add(id(config))
        yield config
        queue += [getattr(config, name, None) for name in config.sub_configs]


def no_cache(model: nn.Module) -> dict[str, bool]:
    """Keep decoders from building a key/value cache nobody reads."""
    config = getattr(model, "config", None)
    return {"use_cache": False} if getattr(config, "use_cache", None) is not None else {}
