"""The gradient pass of a batch: forward with labels, backward, and what measures see of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import nn

from headscope.engine.batches import length_sorted
from headscope.engine.left_out import BrokenRowsError, checked
from headscope.errors import ModelError
from headscope.measures import GradientMeasure, Place
from headscope.models import LanguageLoss, Layout, LoadedModel, Tap, View, collate, sequence_losses
from headscope.types import Encoded, Facts
from headscope.values import Value

#: A backward pass keeps every layer's maps and the logits: its batches are smaller by this.
_SMALLER = 4


def observe_gradients(
    model: LoadedModel,
    measures: Sequence[GradientMeasure],
    encoded: Sequence[Encoded],
    facts: Facts,
    only: Layout | None = None,
) -> Iterator[dict[tuple[str, Place], Value]]:
    """The values of every part of a batch, loss by loss; sequences without a loss are left out.

    With a layout of fewer layers only those are observed; the loss still needs the whole model.
    """
    if measures and model.no_loss:
        raise ModelError(f"{model.name} has no loss of its own: {model.no_loss}")
    groups: dict[LanguageLoss, list[GradientMeasure]] = {}
    for measure in measures:
        groups.setdefault(measure.loss, []).append(measure)
    for loss, group in groups.items():
        fitting = [one for one in encoded if loss.fits(model, one)]
        if not fitting:
            continue
        padded = max(one.n_tokens for one in fitting) * len(fitting)
        for part in length_sorted(fitting, -(-padded // _SMALLER)):
            yield _backward(model, group, loss, part, facts, only or model.layout)


def _backward(
    model: LoadedModel,
    measures: Sequence[GradientMeasure],
    loss: LanguageLoss,
    encoded: Sequence[Encoded],
    facts: Facts,
    only: Layout,
) -> dict[tuple[str, Place], Value]:
    batch = collate(encoded, pad_id=model.pad_id, device=model.device, facts=facts)
    batch, labels = loss.inputs(model, batch)
    values: dict[tuple[str, Place], Value] = {}
    with (
        torch.enable_grad(),
        constant(model.model),
        Tap(model.model, gradients=True, layout=model.layout) as tap,
    ):
        output = tap.forward(batch)
        for view in tap.views:
            checked(view)
        # added, not averaged: the gradient of a sequence must not depend on its batch
        sequence_losses(output.logits, labels).sum().backward()  # type: ignore[no-untyped-call]
        for view in tap.views:
            lost = ~view.gradient.abs().sum(dim=(-2, -1)).isfinite()
            if bool(lost.any()):
                raise BrokenRowsError(view, lost)
            if view.layer not in _seen(only, view):
                continue
            stack = model.layout[view.stack]
            for measure in measures:
                if measure.applies_to(stack):
                    values[measure.name, Place(view.stack, view.layer)] = measure.observe(view)
    return values


def _seen(only: Layout, view: View) -> tuple[int, ...]:
    return next((stack.seen for stack in only.stacks if stack.stack == view.stack), ())


@contextmanager
def constant(model: nn.Module) -> Iterator[None]:
    """No gradient for the weights: only the maps are asked about."""
    trained = [p for p in model.parameters() if p.requires_grad]
    for parameter in trained:
        parameter.requires_grad_(False)
    try:
        yield
    finally:
        for parameter in trained:
            parameter.requires_grad_(True)
