"""A model's answers to the examples of a task."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.models import LoadedModel
from headscope.models.batching import length_sorted_by
from headscope.tasks.example import Prepared
from headscope.tasks.finite_answers import check_answers
from headscope.tasks.task import Task


def answer(
    model: LoadedModel,
    task: Task,
    prepared: Sequence[Prepared],
    *,
    batch_tokens: int = 4096,
    advance: Callable[[int], None] = lambda n: None,
) -> NDArray[np.float64]:
    """The answers of a model in evaluation mode, in the order of the examples.

    Scores that are not finite are refused (`ModelError`).
    """
    found = np.full((len(prepared), len(task.columns)), np.nan)
    training = model.model.training
    model.model.eval()
    try:
        for chosen in length_sorted_by(
            range(len(prepared)), lambda i: prepared[i].n_tokens, batch_tokens
        ):
            part = [prepared[i] for i in chosen]
            batch, labels = task.inputs(model, part)
            with torch.inference_mode():
                output = model.model(**batch.inputs)
            check_answers(output, batch.source.real, part)
            found[chosen] = task.answers(output, labels, part)
            advance(len(part))
    finally:
        model.model.train(training)
    return found
