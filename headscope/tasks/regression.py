"""Which number belongs to a text?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from headscope.errors import ModelError
from headscope.models import LoadedModel
from headscope.models.loaded_model import Head
from headscope.tasks.data import DataOptions, PartSource, drawn
from headscope.tasks.example import Example, Prepared, Split
from headscope.tasks.labelled_rows import labelled_rows
from headscope.tasks.task import Task


@dataclass(frozen=True)
class Regression(Task):
    """One number per text or pair of texts; the loss is the squared error."""

    head: Head = "sequence-classification"
    metrics: tuple[str, ...] = ("pearson", "spearman")
    columns: tuple[str, ...] = ("loss", "value")
    low: float = -math.inf
    high: float = math.inf

    def read(self, source: PartSource, options: DataOptions) -> Split:
        examples = []
        for sequence, label, line in labelled_rows(source, options):
            try:
                number = float(label)
            except ValueError:
                raise source.error(f"the label {label!r}", "a number", line) from None
            if not (math.isfinite(number) and self.low <= number <= self.high):
                expected = f"a number from {self.low:g} to {self.high:g}"
                raise source.error(f"the label {label!r}", expected, line)
            examples.append(Example(sequence, number))
        chosen = drawn(examples, options, source)
        return Split(source.part, tuple(chosen), (source.source.name,), source.fingerprint(options))

    def head_changes(self) -> dict[str, Any]:
        return {
            "num_labels": 1,
            "id2label": {0: self.name},
            "label2id": {self.name: 0},
            "problem_type": "regression",
        }

    def for_model(self, model: LoadedModel) -> Self:
        super().for_model(model)
        n_outputs = int(getattr(model.config, "num_labels", 1))
        if n_outputs != 1:
            raise ModelError(
                f"{model.name} tells {n_outputs} classes apart; {self.title} needs one number"
            )
        return self

    def target(self, prepared: Prepared) -> float:
        gold = prepared.example.gold
        if not isinstance(gold, int | float):
            raise TypeError(f"expected a number, found {gold!r}")
        return float(gold)

    def losses(self, output: Any, labels: Tensor) -> Float[Tensor, " batch"]:
        squared: Tensor = (output.logits[:, 0].float() - labels.float()) ** 2
        return squared

    def answers(
        self, output: Any, labels: Tensor, prepared: Sequence[Prepared]
    ) -> NDArray[np.float64]:
        value = output.logits[:, 0].double()
        both = torch.stack([self.losses(output, labels).double(), value], dim=1)
        return np.asarray(both.detach().cpu().numpy(), np.float64)
