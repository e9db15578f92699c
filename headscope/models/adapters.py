"""Families outside transformers' attention interface.

Their attention modules all pass the softmaxed weights through a dropout module before they use
them. That module is the seam: a hook on it sees the weights and may replace them, and the model's
own code does the rest. A hook where the heads' outputs leave the module gives `z`.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn


@dataclass(frozen=True, slots=True)
class Adapter:
    """Where a family's attention class keeps its seam.

    `dropout` names the module the weights pass through, `projection` the output projection that
    takes the merged heads (None: the class itself returns them), `n_heads` its number of heads.
    """

    module: str
    name: str
    dropout: str
    projection: str | None
    n_heads: str


ADAPTERS: dict[str, Adapter] = {
    "openai-gpt": Adapter("modeling_openai", "Attention", "attn_dropout", "c_proj", "n_head"),
    "mpnet": Adapter("modeling_mpnet", "MPNetSelfAttention", "dropout", "o", "num_attention_heads"),
    "deberta-v2": Adapter(
        "modeling_deberta_v2", "DisentangledSelfAttention", "dropout", None, "num_attention_heads"
    ),
}


def _adapter_of(module: nn.Module) -> Adapter | None:
    for cls in type(module).__mro__:
        for adapter in ADAPTERS.values():
            if cls.__name__ == adapter.name and cls.__module__.endswith(adapter.module):
                return adapter
    return None


def attach_adapters(model: nn.Module, tap: Any, undo: ExitStack) -> None:
    """Put the hooks of every adapted attention module in place; `undo` takes them away."""
    for module in model.modules():
        adapter = _adapter_of(module)
        if adapter is not None:
            _attach(module, adapter, tap, undo)


def _attach(module: nn.Module, adapter: Adapter, tap: Any, undo: ExitStack) -> None:
    n_heads = int(getattr(module, adapter.n_heads))
    pending: list[tuple[Tensor, Any]] = []

    def weights_seen(_: nn.Module, __: tuple[Any, ...], weights: Tensor) -> Tensor:
        site = tap.enter(module, weights, None)
        edited: Tensor = tap.edit(weights, site)
        pending.append((edited, site))
        # as the model's own code expects it: its type, and ready to be reshaped
        return edited.to(weights.dtype).contiguous()

    def heads_merged(merged: Tensor) -> None:
        weights, site = pending.pop()
        z = merged.view(*merged.shape[:-1], n_heads, -1).transpose(1, 2)
        tap.deliver(weights, z, site)

    seam = module.get_submodule(adapter.dropout)
    undo.callback(seam.register_forward_hook(weights_seen).remove)
    if adapter.projection is not None:
        projection = module.get_submodule(adapter.projection)
        hook = projection.register_forward_pre_hook(lambda _, args: heads_merged(args[0]))
    else:
        hook = module.register_forward_hook(
            lambda _, __, out: heads_merged(out[0] if isinstance(out, tuple) else out)
        )
    undo.callback(hook.remove)
