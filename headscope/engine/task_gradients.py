"""The gradient pass of a task: what its loss says about every head."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from headscope.engine.gradients import constant
from headscope.engine.shard import Values, add
from headscope.measures import GradientMeasure, Place
from headscope.models import LoadedModel, Tap
from headscope.models.batching import length_sorted_by
from headscope.tasks import Prepared, Task


def task_gradients(
    model: LoadedModel,
    task: Task,
    measures: Sequence[GradientMeasure],
    prepared: Sequence[Prepared],
    *,
    batch_tokens: int = 1024,
    advance: Callable[[int], None] = lambda n: None,
) -> Values:
    """The values of every measure, with the task's loss in place of the model's own."""
    total: Values = {}
    known = [p for p in prepared if p.target is not None]
    for part in length_sorted_by(known, lambda p: p.n_tokens, batch_tokens):
        batch, labels = task.inputs(model, part)
        values: Values = {}
        with (
            torch.enable_grad(),
            constant(model.model),
            Tap(model.model, gradients=True, layout=model.layout) as tap,
        ):
            output = tap.forward(batch)
            # added, not averaged: the gradient of a sequence must not depend on its batch
            task.losses(output, labels).sum().backward()  # type: ignore[no-untyped-call]
            for view in tap.views:
                for measure in measures:
                    if measure.applies_to(model.layout[view.stack]):
                        values[measure.name, Place(view.stack, view.layer)] = measure.observe(view)
        add(total, values)
        advance(len(part))
    return total
