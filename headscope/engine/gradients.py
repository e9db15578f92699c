"""The gradient pass of a batch: forward with labels, backward, and what measures see of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import nn

from headscope.engine.batches import length_sorted
from headscope.errors import ModelError
from headscope.measures import GradientMeasure, Place
from headscope.models import LanguageLoss, LoadedModel, Tap, collate, sequence_losses
from headscope.types import Encoded, Facts
from headscope.values import Value

#: A backward pass keeps every layer's maps and the logits: its batches are smaller by this.
_SMALLER = 4


def observe_gradients(
    model: LoadedModel,
    measures: Sequence[GradientMeasure],
    encoded: Sequence[Encoded],
    facts: Facts,
) -> Iterator[dict[tuple[str, Place], Value]]:
    """The values of every part of a batch, loss by loss; sequences without a loss are left out."""
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
            yield _backward(model, group, loss, part, facts)


def _backward(
    model: LoadedModel,
    measures: Sequence[GradientMeasure],
    loss: LanguageLoss,
    encoded: Sequence[Encoded],
    facts: Facts,
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
        # added, not averaged: the gradient of a sequence must not depend on its batch
        sequence_losses(output.logits, labels).sum().backward()  # type: ignore[no-untyped-call]
        for view in tap.views:
            stack = model.layout[view.stack]
            for measure in measures:
                if measure.applies_to(stack):
                    values[measure.name, Place(view.stack, view.layer)] = measure.observe(view)
    return values


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
