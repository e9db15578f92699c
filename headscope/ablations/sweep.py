"""A model's answers with every ablation, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.ablations.ablation import Ablation
from headscope.ablations.blocks import Blocks, copies
from headscope.ablations.shortcut import Shortcut
from headscope.models import EDITS, Batch, Edit, LoadedModel, Tap
from headscope.models.batching import length_sorted_by
from headscope.tasks import Prepared, Task
from headscope.tasks.finite_answers import check_answers
from headscope.types import HeadId

Floats = NDArray[np.float64]


class Sweep:
    """Answers a task with heads switched off.

    The plain way runs the whole model for every ablation. The fast way (the default, where the
    model's layers can be skipped) starts every ablation at the first layer it changes, from what
    that layer was given in the unedited pass, several ablations in one wide batch. Both give the
    same answers: the arithmetic of every row is the same, only more of it stands side by side.
    """

    def __init__(
        self,
        model: LoadedModel,
        task: Task,
        how: str,
        *,
        options: dict[str, Any] | None = None,
        fast: bool = True,
        batch_tokens: int = 256,
        wide_tokens: int = 2048,
    ) -> None:
        self.model, self.task, self.how = model, task, how
        self._kind: type[Edit] = EDITS[how]
        self._options = options or {}
        self._batch_tokens, self._wide_tokens = batch_tokens, wide_tokens
        self._shortcut = Shortcut(model) if fast else None
        self._tried = False

    @property
    def fast(self) -> bool:
        """Whether layers are skipped; known after the first batch."""
        return bool(self._shortcut)

    def edit(self, heads: frozenset[HeadId]) -> Edit:
        """The edit of some heads."""
        made = self._kind(heads=heads, **self._options)
        made.check(self.model.layout)
        return made

    def answers(
        self,
        prepared: Sequence[Prepared],
        ablations: Sequence[Ablation],
        *,
        standing: frozenset[HeadId] = frozenset(),
        advance: Callable[[int], None] = lambda n: None,
    ) -> tuple[Floats, Floats]:
        """The unedited answers [example, column], and those of every ablation before them.

        `standing` heads are off in all of them. `advance` hears of examples × ablations.
        """
        n, width = len(prepared), len(self.task.columns)
        baseline = np.full((n, width), np.nan)
        values = np.full((len(ablations), n, width), np.nan)
        for chosen in length_sorted_by(
            range(n), lambda i: prepared[i].n_tokens, self._batch_tokens
        ):
            part = [prepared[i] for i in chosen]
            baseline[chosen], values[:, chosen] = self._batch(part, ablations, standing, advance)
        return baseline, values

    def _batch(
        self,
        part: list[Prepared],
        ablations: Sequence[Ablation],
        standing: frozenset[HeadId],
        advance: Callable[[int], None],
    ) -> tuple[Floats, Floats]:
        batch, labels = self.task.inputs(self.model, part)
        values = np.empty((len(ablations), len(part), len(self.task.columns)))
        with (
            torch.inference_mode(),
            Tap(self.model.model, layout=self.model.layout) as tap,
        ):
            tap.edits = (self.edit(standing),) if standing else ()
            if self._shortcut:
                with self._shortcut.recording():
                    output = tap.forward(batch)
                self._try(tap, batch, output)
            else:
                output = tap.forward(batch)
            check_answers(output, batch.source.real, part)
            baseline = self.task.answers(output, labels, part)
            for group in self._groups(ablations, batch):
                edits = [self.edit(ablations[i].heads | standing) for i in group]
                output = self._run(tap, batch, edits, min(ablations[i].first_layer for i in group))
                many = labels.repeat(len(group), *[1] * (labels.ndim - 1))
                check_answers(output, batch.source.real.repeat(len(group), 1), part * len(group))
                found = self.task.answers(output, many, part * len(group))
                values[group] = found.reshape(len(group), len(part), -1)
                advance(len(group) * len(part))
        return baseline, values

    def _run(self, tap: Tap, batch: Batch, edits: list[Edit], layer: int) -> Any:
        if not self._shortcut:
            tap.edits = tuple(edits)
            return tap.forward(batch)
        tap.edits = (Blocks.of(edits, batch),)
        with self._shortcut.starting_at(layer, len(edits)):
            return tap.forward(copies(batch, len(edits)))

    def _groups(self, ablations: Sequence[Ablation], batch: Batch) -> list[list[int]]:
        """Ablations that run together: those that begin in one layer, as many as fit."""
        if not self._shortcut:
            return [[i] for i in range(len(ablations))]
        size = max(1, self._wide_tokens // batch.source.ids.numel())
        by_layer: dict[int, list[int]] = {}
        for i, ablation in enumerate(ablations):
            by_layer.setdefault(ablation.first_layer, []).append(i)
        return [
            members[start : start + size]
            for members in by_layer.values()
            for start in range(0, len(members), size)
        ]

    def _try(self, tap: Tap, batch: Batch, output: Any) -> None:
        """Skip layers only in models where that provably changes nothing."""
        if self._tried or self._shortcut is None:
            return
        self._tried = True
        whole = _logits(output)
        if self._shortcut.plain:
            for layer in range(len(self._shortcut.layers)):
                with self._shortcut.starting_at(layer, 2):
                    again = _logits(tap.forward(copies(batch, 2)))
                if any(
                    not torch.allclose(a.repeat(2, *[1] * (a.ndim - 1)), b, atol=1e-4, rtol=1e-4)
                    for a, b in zip(whole, again, strict=True)
                ):
                    break
            else:
                return
        self._shortcut = None


def _logits(output: Any) -> list[torch.Tensor]:
    names = ("logits", "start_logits", "end_logits")
    return [getattr(output, name) for name in names if getattr(output, name, None) is not None]
