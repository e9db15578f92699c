"""A task: a data set, what is to be said about each of its examples, and how that is scored."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from headscope.corpora import Encoder
from headscope.errors import ModelError, UsageError
from headscope.models import Batch, LoadedModel, collate
from headscope.models.loaded_model import Head
from headscope.registry import Registry
from headscope.tasks.data import DataOptions, PartSource
from headscope.tasks.example import Prepared, Split, gold_numbers
from headscope.tasks.metrics import Answers, Metric, metric_named
from headscope.types import Encoded

TASKS: Registry[Task] = Registry("task", "headscope.tasks.known")


@dataclass(frozen=True)
class Task(ABC):
    """What a model with a certain head is asked about a data set.

    `metrics` name what its answers are scored by, the one people quote first; the mean loss is
    always among them. `columns` name the numbers a model's answer to an example is kept as.
    """

    name: str
    title: str
    head: Head
    metrics: tuple[str, ...]
    columns: tuple[str, ...]

    #: Whether one file can serve as both parts (question answering: half of its articles each).
    halves: bool = False
    #: The longest input in tokens, unless the user says otherwise; longer ones are cut.
    max_tokens: int = 128

    # --- data -------------------------------------------------------------------------------

    @abstractmethod
    def read(self, source: PartSource, options: DataOptions) -> Split:
        """The examples of a part; whatever is wrong with the file is an `InputError`."""

    def learnt(self, source: PartSource, options: DataOptions) -> Self:
        """The same task, knowing what only the data can tell (the names of its classes)."""
        return self

    # --- models -----------------------------------------------------------------------------

    def head_changes(self) -> dict[str, Any]:
        """What a model's config must say before a new head is put on it."""
        return {}

    def for_model(self, model: LoadedModel) -> Self:
        """The same task in the terms of a model's head, or a refusal if that head does not fit."""
        if model.head != self.head:
            raise ModelError(
                f"{model.name} has no {self.head} head, which {self.title} needs; "
                f"give it one with: headscope finetune … --task {self.name}"
            )
        return self

    def encoder(self, model: LoadedModel, max_tokens: int | None = None) -> Encoder:
        """How a model reads this task's texts; long ones are cut, B before A."""
        limit = min(max_tokens or self.max_tokens, model.max_tokens)
        return Encoder(model.tokenizer, max_tokens=limit)

    def prepare(
        self, split: Split, encoder: Encoder, *, learning: bool = False
    ) -> tuple[list[Prepared], dict[str, int]]:
        """The examples as the model reads them, and how many were cut or left out.

        With `learning` also those are left out from which nothing can be learnt.
        """
        prepared: list[Prepared] = []
        counts: Counter[str] = Counter(n_cut=0, n_skipped=0)
        sequences = (example.sequence for example in split.examples)
        for example, one in zip(split.examples, encoder.encode_many(sequences), strict=True):
            if not isinstance(one, Encoded):
                counts["n_skipped"] += 1
                continue
            ready = Prepared(one, example, None)
            target = self.target(ready)
            if learning and target is None:
                counts["n_skipped"] += 1
                continue
            counts["n_cut"] += one.n_cut > 0
            prepared.append(Prepared(one, example, target))
        if not prepared:
            raise UsageError(
                f"no example of the {split.name} split is left for {self.title}: "
                f"all {counts['n_skipped']} are too long or cannot be read"
            )
        return prepared, dict(counts)

    @abstractmethod
    def target(self, prepared: Prepared) -> int | float | tuple[int, int] | None:
        """What the loss of an example is taken against; None where there is none."""

    def inputs(self, model: LoadedModel, prepared: Sequence[Prepared]) -> tuple[Batch, Tensor]:
        """A batch as the model is to read it, and its labels."""
        batch = collate([p.encoded for p in prepared], pad_id=model.pad_id, device=model.device)
        return batch, torch.tensor([p.target for p in prepared], device=model.device)

    @abstractmethod
    def losses(self, output: Any, labels: Tensor) -> Float[Tensor, " batch"]:
        """The loss of every example; never a mean, so that no example depends on its batch."""

    @abstractmethod
    def answers(
        self, output: Any, labels: Tensor, prepared: Sequence[Prepared]
    ) -> NDArray[np.float64]:
        """What is kept of a model's answers: one row per example, `columns` wide."""

    # --- scores -----------------------------------------------------------------------------

    def all_metrics(self) -> list[Metric]:
        """The metrics of the task and the mean loss."""
        return [metric_named(name) for name in dict.fromkeys((*self.metrics, "loss"))]

    def named(self, answers: NDArray[np.float64]) -> Answers:
        """Rows of answers as columns by name."""
        return {name: answers[:, i] for i, name in enumerate(self.columns)}

    def scores(
        self, answers: NDArray[np.float64], prepared: Sequence[Prepared]
    ) -> Mapping[str, float]:
        """Every metric of the answers."""
        gold, named = gold_numbers(prepared), self.named(answers)
        return {metric.name: metric.score(named, gold) for metric in self.all_metrics()}


def find_task(name: str) -> Task:
    """A task by its name, however people spell it.

    >>> find_task("SST-2").title, find_task("masked-lm").name
    ('SST-2', 'masked_lm')
    """
    wanted = re.sub(r"[^a-z0-9]", "", name.lower())
    for key, task in TASKS.items():
        if wanted in (key.replace("_", ""), re.sub(r"[^a-z0-9]", "", task.title.lower())):
            return task
    return TASKS[name]
