"""Removing heads for good, into a folder that plain transformers loads.

Where a family's config says how wide a head is (`head_dim`: Llama, Mistral, Qwen, Gemma and their
kin) and every layer loses equally many, the projections themselves become smaller. Everywhere else
transformers can only load projections of the full width, so the columns of the output projection
that read the removed heads are set to 0, and so are the values that would be computed for nobody.
Both give what the `zero` edit gives.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from transformers.pytorch_utils import Conv1D

from headscope.ablations.projections import Where, output_projections
from headscope.errors import UsageError
from headscope.models import LoadedModel
from headscope.models.describe import places
from headscope.types import HeadId

#: Names of the projections that make queries, keys and values, where they are separate.
_INPUTS = (("q_proj", "k_proj", "v_proj"), ("query", "key", "value"), ("q_lin", "k_lin", "v_lin"))


@dataclass(frozen=True)
class Pruned:
    """What was done: whether projections shrank, or why not, and how many weights are gone."""

    heads: frozenset[HeadId]
    shrunk: bool
    why_not: str
    n_parameters_before: int
    n_parameters: int
    n_zeroed: int


def prune(model: LoadedModel, heads: Iterable[HeadId]) -> Pruned:
    """Remove heads from a loaded model, in place."""
    chosen = frozenset(model.layout.check(head) for head in heads)
    if not chosen:
        raise UsageError("no heads to remove; expected --heads, such as 3-1,4-2")
    before = model.n_parameters
    why_not = _why_not(model, chosen)
    n_zeroed = 0
    if not why_not:
        _shrink_all(model, chosen)
    else:
        n_zeroed = _zero_all(model, chosen)
    told: dict[str, list[int]] = {}
    for head in sorted(chosen):
        name = str(head.layer) if head.stack == "self" else f"{head.stack}:{head.layer}"
        told.setdefault(name, []).append(head.head)
    if why_not:
        model.config.headscope_zeroed_heads = told
    else:
        model.config.headscope_removed_heads = told
    return Pruned(chosen, not why_not, why_not, before, model.n_parameters, n_zeroed)


def _by_layer(heads: Iterable[HeadId]) -> Mapping[Where, list[int]]:
    found: dict[Where, list[int]] = {}
    for head in sorted(heads):
        found.setdefault((head.stack, head.layer), []).append(head.head)
    return found


# --- zeroing ----------------------------------------------------------------------------------


def _zero_all(model: LoadedModel, heads: frozenset[HeadId]) -> int:
    projections = output_projections(model)
    shared: dict[nn.Module, list[Where]] = {}
    for where, module in projections.items():
        shared.setdefault(module, []).append(where)
    by_layer = _by_layer(heads)
    n_zeroed = 0
    for where, chosen in by_layer.items():
        partners = shared[projections[where]]
        if any(by_layer.get(other) != chosen for other in partners):
            layers = ", ".join(str(layer + 1) for _, layer in partners)
            raise UsageError(
                f"layers {layers} of {model.name} share their weights: "
                "a head can only be removed from all of them"
            )
        n_heads = model.layout[where[0]].n_heads[where[1]]
        n_zeroed += _zero(projections[where], chosen, n_heads)
    return n_zeroed


def _zero(projection: nn.Module, heads: list[int], n_heads: int) -> int:
    """Set to 0 what reads these heads."""
    weight: Any = projection.weight
    # a Conv1D keeps [in, out], a Linear [out, in]
    inputs = weight if isinstance(projection, Conv1D) else weight.T
    width = int(inputs.shape[0]) // n_heads
    with torch.no_grad():
        for head in heads:
            inputs[head * width : (head + 1) * width] = 0.0
    return len(heads) * width * int(inputs.shape[1])


# --- smaller projections ----------------------------------------------------------------------


def _why_not(model: LoadedModel, heads: frozenset[HeadId]) -> str:
    """Why projections cannot become smaller; "" if they can."""
    config = model.config
    if len(model.layout.stacks) != 1 or not hasattr(config, "num_key_value_heads"):
        return (
            f"transformers builds the projections of {model.family} from the hidden size, "
            "so that heads cannot be missing"
        )
    by_layer = _by_layer(heads)
    stack = model.layout.stacks[0]
    counts = {len(by_layer.get((stack.stack, layer), [])) for layer in range(stack.n_layers)}
    if len(counts) != 1:
        return "not every layer loses equally many heads, and a config knows one number for all"
    if counts == {stack.n_heads[0]}:
        return "a layer cannot lose all of its heads"
    size = stack.n_heads[0] // int(config.num_key_value_heads)
    for chosen in by_layer.values():
        if len({h // size for h in chosen}) * size != len(chosen):
            return f"{size} heads share their keys, and a layer would lose only some of them"
    if any(_inputs(module) is None for module in places(model.model)):
        return f"the projections of {model.family} are not ones that are known here"
    left = stack.n_heads[0] - counts.pop()
    smaller = copy.deepcopy(config)
    smaller.num_attention_heads, smaller.num_key_value_heads = left, left // size
    try:
        type(config).from_dict(smaller.to_dict())
    except Exception:
        return f"transformers takes no {model.family} of hidden size {config.hidden_size} with " + (
            f"{left} heads"
        )
    return ""


def _inputs(module: nn.Module) -> tuple[nn.Linear, nn.Linear, nn.Linear] | None:
    for names in _INPUTS:
        parts = [getattr(module, name, None) for name in names]
        if all(isinstance(part, nn.Linear) for part in parts):
            q, k, v = parts
            return q, k, v  # type: ignore[return-value]
    return None


def _shrink_all(model: LoadedModel, heads: frozenset[HeadId]) -> None:
    config, stack = model.config, model.layout.stacks[0]
    n_heads, n_kv = stack.n_heads[0], int(config.num_key_value_heads)
    size = n_heads // n_kv
    head_dim = int(getattr(config, "head_dim", None) or config.hidden_size // n_heads)
    projections, by_layer = output_projections(model), _by_layer(heads)
    n_removed = len(next(iter(by_layer.values())))
    for module, where in places(model.model).items():
        gone = set(by_layer[where[0]])
        kept = [h for h in range(n_heads) if h not in gone]
        kept_kv = sorted({h // size for h in kept})
        parts = _inputs(module)
        if parts is None:
            raise RuntimeError("checked before")
        _keep_rows(parts[0], kept, head_dim)
        for part in parts[1:]:
            _keep_rows(part, kept_kv, head_dim)
        _keep_columns(projections[where[0]], kept, head_dim)
    config.num_attention_heads = n_heads - n_removed
    config.num_key_value_heads = n_kv - n_removed // size
    config.head_dim = head_dim


def _spread(chosen: list[int], width: int) -> list[int]:
    return [h * width + i for h in chosen for i in range(width)]


def _keep_rows(linear: nn.Linear, chosen: list[int], width: int) -> None:
    rows = _spread(chosen, width)
    linear.weight = nn.Parameter(linear.weight.detach()[rows].clone())
    if linear.bias is not None:
        linear.bias = nn.Parameter(linear.bias.detach()[rows].clone())
    linear.out_features = len(rows)


def _keep_columns(projection: nn.Module, chosen: list[int], width: int) -> None:
    if not isinstance(projection, nn.Linear):
        raise RuntimeError("the families with head_dim project with a Linear")
    columns = _spread(chosen, width)
    projection.weight = nn.Parameter(projection.weight.detach()[:, columns].clone())
    projection.in_features = len(columns)
