"""Starting a forward pass in the middle: from what a layer was given the last time.

An ablation in layer l changes nothing before it. The layers before l are told to hand over what
layer l − 1 gave out in the unedited pass; the model's own code does the rest, whatever its family.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from headscope.models import LoadedModel
from headscope.models.describe import places


class Shortcut:
    """The layers of a model that can be skipped, and what each gave out in the recorded pass.

    `layers` is empty where that is not possible: several stacks, layers that share their weights,
    or layers that give out more than their hidden state.
    """

    def __init__(self, model: LoadedModel) -> None:
        self._attention = _attention_modules(model)
        self.layers = _layers(model.model, self._attention)
        self._outputs: list[Any] = []

    def __bool__(self) -> bool:
        return bool(self.layers)

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Keep what every layer gives out."""
        self._outputs = [None] * len(self.layers)
        with ExitStack() as undo:
            for i, layer in enumerate(self.layers):
                hook = layer.register_forward_hook(self._keep(i))
                undo.callback(hook.remove)
            yield

    def _keep(self, i: int) -> Any:
        def hook(_: nn.Module, __: Any, output: Any) -> None:
            self._outputs[i] = output

        return hook

    @property
    def plain(self) -> bool:
        """Whether every layer gave out its hidden state and nothing else that matters."""
        return all(_hidden(output) is not None for output in self._outputs)

    @contextmanager
    def starting_at(self, layer: int, n_copies: int) -> Iterator[None]:
        """Skip the layers before this one, for a batch of so many copies of the recorded one.

        In the layer itself all copies still read the same: its projections are computed once.
        """
        with ExitStack() as undo:
            if layer > 0:
                stand_in = _copied(self._outputs[layer - 1], n_copies)
                for skipped in self.layers[:layer]:
                    _replace_forward(skipped, lambda *_, **__: stand_in, undo)
            if n_copies > 1:
                for module in self._attention[layer].modules():
                    if isinstance(module, nn.Linear | Conv1D):
                        _replace_forward(module, _shared(module, n_copies), undo)
            yield


def _replace_forward(module: nn.Module, forward: Any, undo: ExitStack) -> None:
    undo.callback(module.__dict__.pop, "forward", None)
    module.__dict__["forward"] = forward


def _shared(module: nn.Module, n_copies: int) -> Any:
    """A projection that works once where all copies are equal, and as ever where they are not."""
    plain: Callable[[Tensor], Tensor] = module.forward

    def forward(x: Tensor) -> Tensor:
        rows = len(x) // n_copies
        whole = x.reshape(n_copies, rows, *x.shape[1:])
        if rows * n_copies != len(x) or not torch.equal(whole, whole[:1].expand_as(whole)):
            return plain(x)
        once = plain(x[:rows])
        return once.repeat(n_copies, *[1] * (once.ndim - 1))

    return forward


def _hidden(output: Any) -> Tensor | None:
    """A layer's hidden state, if that is all it gives out."""
    if isinstance(output, Tensor):
        return output
    if isinstance(output, tuple | list) and output and isinstance(output[0], Tensor):
        rest = [part for part in output[1:] if part is not None]
        return output[0] if not rest else None
    return None


def _copied(output: Any, n: int) -> Any:
    hidden = _hidden(output)
    if hidden is None:
        raise RuntimeError("a layer without a plain output cannot be skipped")
    many = hidden.repeat(n, *[1] * (hidden.ndim - 1))
    return many if isinstance(output, Tensor) else type(output)((many, *output[1:]))


def _attention_modules(model: LoadedModel) -> list[nn.Module]:
    """The attention module of every layer; none where that is not one to one."""
    if len(model.layout.stacks) != 1:
        return []
    found = {where: module for module, places_ in places(model.model).items() for where in places_}
    modules = [module for _, module in sorted(found.items(), key=lambda item: item[0][1])]
    return modules if len(set(modules)) == len(modules) else []


def _layers(model: nn.Module, attention: list[nn.Module]) -> tuple[nn.Module, ...]:
    """The member of a module list that each attention module is inside of."""
    names = {module: name for name, module in model.named_modules()}
    layers = []
    for module in attention:
        path = names[module].split(".")
        inside = [
            ".".join(path[: i + 1])
            for i in range(1, len(path))
            if isinstance(model.get_submodule(".".join(path[:i])), nn.ModuleList)
        ]
        if not inside:
            return ()
        layers.append(model.get_submodule(inside[-1]))
    return tuple(layers) if len(set(layers)) == len(layers) else ()
