"""The tap leaves no trace, measures in float32, keeps gradients and no more than one layer."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
import torch
import transformers as tf
from torch import Tensor, nn

from headscope.errors import UsageError
from headscope.models import Batch, Edit, Site, Tap, View, describe
from headscope.models.edits import Uniform, Zero
from headscope.types import HeadId
from tests.models.tiny import FAMILIES, batch_for, projection_inputs

_SOME = ["bert", "albert", "modernbert", "llama", "bart", "t5", "openai-gpt", "deberta-v2"]


# --- no trace -------------------------------------------------------------------------------


def _configs(model: nn.Module) -> dict[str, Any]:
    return {
        name: module.config
        for name, module in model.named_modules()
        if getattr(module, "config", None) is not None
    }


def _state(model: nn.Module) -> dict[str, Any]:
    """Everything a tap could leave behind, in a form that compares."""
    hooks = (
        "_forward_hooks",
        "_forward_pre_hooks",
        "_backward_hooks",
        "_backward_pre_hooks",
        "_forward_hooks_with_kwargs",
        "_forward_pre_hooks_with_kwargs",
        "_forward_hooks_always_called",
    )
    return {
        "implementation": {k: c._attn_implementation for k, c in _configs(model).items()},
        "configs": {k: c.to_json_string() for k, c in _configs(model).items()},
        "hooks": {
            f"{name}.{hook}": len(getattr(module, hook))
            for name, module in model.named_modules()
            for hook in hooks
        },
        "training": {name: module.training for name, module in model.named_modules()},
        "attributes": {name: sorted(vars(module)) for name, module in model.named_modules()},
        "weights": {k: v.clone().numpy().tobytes() for k, v in model.state_dict().items()},
        "needs_grad": {k: (p.requires_grad, p.grad) for k, p in model.named_parameters()},
        "rng": torch.get_rng_state().numpy().tobytes(),
    }


def _outputs(model: nn.Module, batch: Batch) -> list[Tensor]:
    with torch.inference_mode():
        output = model(**batch.inputs)
    return [v for v in output.values() if isinstance(v, Tensor)]


class _StopError(Exception):
    pass


def _stop(*_: Any) -> None:
    raise _StopError


def _run(model: nn.Module, batch: Batch, how: str) -> None:
    heads = None
    match how:
        case "pass":
            with torch.inference_mode(), Tap(model, observer=lambda view: None) as tap:
                tap.forward(batch)
        case "edits":
            with torch.inference_mode(), Tap(model, edits=[Uniform(heads)]) as tap:
                tap.forward(batch)
        case "gradients":
            with Tap(model, gradients=True) as tap:
                tap.forward(batch)
        case "error in the block":
            with pytest.raises(_StopError), Tap(model) as tap:
                tap.forward(batch)
                _stop()
        case "error in the observer":
            with pytest.raises(_StopError), Tap(model, observer=_stop) as tap:
                tap.forward(batch)
        case "error in the model":
            with pytest.raises(TypeError), Tap(model, observer=lambda view: None) as tap:
                tap.forward(batch, no_such_argument=1, **{"input_ids": None})


@pytest.mark.parametrize("name", _SOME)
@pytest.mark.parametrize(
    "how",
    ["pass", "edits", "gradients", "error in the block", "error in the observer"],
)
def test_the_model_is_left_as_it_was(name: str, how: str) -> None:
    model = FAMILIES[name].build()
    batch = batch_for(FAMILIES[name])
    next(module for module in model.modules() if isinstance(module, nn.Dropout)).train() if any(
        isinstance(module, nn.Dropout) for module in model.modules()
    ) else None
    model.train(False)
    next(model.children()).train()  # a mixture of modes is nobody's business either
    torch.manual_seed(3)
    outputs = _outputs(model, batch)
    torch.manual_seed(3)
    before = _state(model)
    _run(model.eval(), batch, how)
    next(model.children()).train()
    torch.manual_seed(3)
    after = _state(model)
    for part, value in before.items():
        assert after[part] == value, part
    for a, b in zip(outputs, _outputs(model, batch), strict=True):
        assert torch.equal(a, b)
