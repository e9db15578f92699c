"""Which of a few classes is a text?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from headscope.errors import ModelError, UsageError
from headscope.models import LoadedModel
from headscope.models.loaded_model import Head
from headscope.tasks.data import DataOptions, PartSource, drawn
from headscope.tasks.example import Example, Prepared, Split
from headscope.tasks.labelled_rows import labelled_rows
from headscope.tasks.task import Task

#: More different labels than this are no classes.
MAX_CLASSES = 1000


@dataclass(frozen=True)
class Classification(Task):
    """One class per text or pair of texts; the loss is −ln p(gold class).

    `labels` are the classes as the files write them, in the order of the head's outputs, and
    `names` what they mean; without labels the training file tells them, in alphabetical order.
    """

    head: Head = "sequence-classification"
    metrics: tuple[str, ...] = ("accuracy",)
    columns: tuple[str, ...] = ("loss", "class")
    labels: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    def learnt(self, source: PartSource, options: DataOptions) -> Self:
        if self.labels:
            return self
        found = sorted({str(label) for _, label, _ in labelled_rows(source, options)})
        if not 2 <= len(found) <= MAX_CLASSES:
            raise source.error(f"{len(found)} different labels", f"2 to {MAX_CLASSES} classes")
        return replace(self, labels=tuple(found))

    def read(self, source: PartSource, options: DataOptions) -> Split:
        index = {label: i for i, label in enumerate(self.labels)}
        examples = []
        for sequence, label, line in labelled_rows(source, options):
            if str(label) not in index:
                known = ", ".join(self.labels[:8]) + (" …" if len(self.labels) > 8 else "")
                raise source.error(f"the label {str(label)!r}", f"one of {known}", line)
            examples.append(Example(sequence, index[str(label)]))
        chosen = drawn(examples, options, source)
        return Split(source.part, tuple(chosen), (source.source.name,), source.fingerprint(options))

    def head_changes(self) -> dict[str, Any]:
        if not self.labels:
            raise UsageError(f"the classes of {self.title} are not known: read its data first")
        shown = self.names or self.labels
        return {
            "num_labels": len(self.labels),
            "id2label": dict(enumerate(shown)),
            "label2id": {name: i for i, name in enumerate(shown)},
            "problem_type": "single_label_classification",
        }

    def for_model(self, model: LoadedModel) -> Self:
        """Classes in the order of the model's outputs, matched by name where it has names."""
        super().for_model(model)
        told = getattr(model.config, "id2label", None) or {}
        theirs = [str(told[i]) for i in sorted(told)]
        if not self.labels:
            return replace(self, labels=tuple(theirs))
        if len(theirs) != len(self.labels):
            raise ModelError(
                f"{model.name} tells {len(theirs)} classes apart ({', '.join(theirs)}); "
                f"{self.title} has {len(self.labels)} ({', '.join(self.labels)})"
            )
        if all(re.fullmatch(r"LABEL_\d+", name) for name in theirs):
            return self
        for mine in (self.names, self.labels):
            place = {name.lower(): i for i, name in enumerate(mine)}
            if set(place) == {name.lower() for name in theirs}:
                order = [place[name.lower()] for name in theirs]
                names = tuple(self.names[i] for i in order) if self.names else ()
                return replace(self, labels=tuple(self.labels[i] for i in order), names=names)
        raise ModelError(
            f"{model.name} knows the classes {', '.join(theirs)}; {self.title} has "
            f"{', '.join(self.names or self.labels)}"
        )

    def target(self, prepared: Prepared) -> int:
        gold = prepared.example.gold
        if not isinstance(gold, int):
            raise TypeError(f"a class is a whole number, found {gold!r}")
        return gold

    def losses(self, output: Any, labels: Tensor) -> Float[Tensor, " batch"]:
        return functional.cross_entropy(output.logits.float(), labels, reduction="none")

    def answers(
        self, output: Any, labels: Tensor, prepared: Sequence[Prepared]
    ) -> NDArray[np.float64]:
        chosen = output.logits.argmax(dim=-1).double()
        both = torch.stack([self.losses(output, labels).double(), chosen], dim=1)
        return np.asarray(both.detach().cpu().numpy(), np.float64)
