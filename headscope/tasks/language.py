"""Which token stands here, or comes next? The loss of a language model on any text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from headscope.corpora import Corpus
from headscope.errors import ModelError
from headscope.models import Batch, LanguageLoss, LoadedModel, collate, sequence_losses
from headscope.models.language_loss import NO_LABEL
from headscope.tasks.data import DataOptions, PartSource, drawn
from headscope.tasks.example import Example, Prepared, Split
from headscope.tasks.task import Task


@dataclass(frozen=True)
class LanguageModelling(Task):
    """A language model's own loss on any corpus, in nats.

    `token_loss` is the mean of −ln p(token) over all predicted tokens; `loss` the mean over
    sequences of their means. Masked tokens are chosen by seed and sequence, so that a model with a
    head switched off is asked exactly the same.
    """

    metrics: tuple[str, ...] = ("token_loss",)
    columns: tuple[str, ...] = ("loss", "n_predicted")
    loss: LanguageLoss = field(default_factory=LanguageLoss)

    def read(self, source: PartSource, options: DataOptions) -> Split:
        examples = [Example(sequence, None) for sequence in Corpus(source.source.path)]
        chosen = drawn(examples, options, source)
        return Split(source.part, tuple(chosen), (source.source.name,), source.fingerprint(options))

    def for_model(self, model: LoadedModel) -> Self:
        super().for_model(model)
        if model.no_loss:
            raise ModelError(f"{model.name} has no loss of its own: {model.no_loss}")
        return replace(self)

    def target(self, prepared: Prepared) -> int | None:
        """The number of tokens there are to choose from; None if there are none."""
        if self.head == "causal-lm":
            return prepared.n_tokens - 1 or None
        return int((prepared.encoded.segments >= 0).sum()) or None

    def prepare(
        self, split: Split, encoder: Any, *, learning: bool = False
    ) -> tuple[list[Prepared], dict[str, int]]:
        """Sequences with nothing to predict are always left out."""
        return super().prepare(split, encoder, learning=True)

    def inputs(self, model: LoadedModel, prepared: Sequence[Prepared]) -> tuple[Batch, Tensor]:
        batch = collate([p.encoded for p in prepared], pad_id=model.pad_id, device=model.device)
        return self.loss.inputs(model, batch)

    def losses(self, output: Any, labels: Tensor) -> Float[Tensor, " batch"]:
        return sequence_losses(output.logits, labels)

    def answers(
        self, output: Any, labels: Tensor, prepared: Sequence[Prepared]
    ) -> NDArray[np.float64]:
        n_predicted = (labels != NO_LABEL).sum(dim=1).double()
        both = torch.stack([self.losses(output, labels).double(), n_predicted], dim=1)
        return np.asarray(both.detach().cpu().numpy(), np.float64)
