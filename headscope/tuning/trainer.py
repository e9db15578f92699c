"""transformers' Trainer, told what a task's loss is and where to look when to stop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset
from transformers import (
    EarlyStoppingCallback,
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)

from headscope.models import LoadedModel
from headscope.tasks import Prepared, Task, answer
from headscope.tuning.length_groups import LengthGroups
from headscope.tuning.options import TuningOptions
from headscope.tuning.whole_checkpoints import rotate, seal


class _Examples(Dataset[Prepared]):
    def __init__(self, prepared: Sequence[Prepared]) -> None:
        self.prepared = prepared

    def __len__(self) -> int:
        return len(self.prepared)

    def __getitem__(self, index: int) -> Prepared:
        return self.prepared[index]


class _Told(TrainerCallback):
    def __init__(self, advance: Callable[[int], None]) -> None:
        self._advance, self._at = advance, 0

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._advance(state.global_step - self._at)
        self._at = state.global_step


class TaskTrainer(Trainer):
    """Trains `model.model` on a task. Any module whose output the task understands will do."""

    def __init__(
        self,
        model: LoadedModel,
        task: Task,
        learning: Sequence[Prepared],
        held: Sequence[Prepared],
        options: TuningOptions,
        folder: Path,
        advance: Callable[[int], None],
    ) -> None:
        self._loaded, self._task, self._held, self._options = model, task, held, options
        self._learning = learning

        def collated(prepared: list[Prepared]) -> dict[str, Tensor]:
            batch, labels = task.inputs(model, prepared)
            return {**batch.inputs, "labels": labels}

        super().__init__(
            model=model.model,
            args=_arguments(options, folder, len(learning), bool(held), model.device),
            data_collator=collated,
            train_dataset=_Examples(learning),
            eval_dataset=_Examples(held) if held else None,
            callbacks=[_Told(advance)],
        )
        self.model_accepts_loss_kwargs = False
        self.remove_callback(PrinterCallback)
        if held and options.patience:
            self.add_callback(EarlyStoppingCallback(options.patience))

    def _get_train_sampler(self, train_dataset: Any = None) -> LengthGroups:
        lengths = [p.n_tokens for p in self._learning]
        return LengthGroups(lengths, self._options.batch_size, self._options.seed)

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        """Save, seal, and let older ones go, by their step (transformers goes by their dates)."""
        super()._save_checkpoint(model, trial)
        training = Path(str(self.args.output_dir))
        seal(training / f"checkpoint-{self.state.global_step}")
        rotate(training, keep=2)

    def compute_loss(
        self,
        model: Any,
        inputs: dict[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: Any = None,
    ) -> Any:
        """The mean of the task's losses."""
        labels = inputs.pop("labels")
        output = model(**inputs)
        loss = self._task.losses(output, labels).mean()
        return (loss, output) if return_outputs else loss

    def evaluate(self, *_: Any, **__: Any) -> dict[str, float]:
        """The task's first metric on the held-out part."""
        metric = self._task.all_metrics()[0]
        given = answer(self._loaded, self._task, self._held)
        score = self._task.scores(given, self._held)[metric.name]
        found = {"eval_gain": score if metric.higher_is_better else -score}
        self.log({f"eval_{metric.name}": score, **found})
        self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, found)
        return found


def _arguments(
    options: TuningOptions, folder: Path, n_learning: int, looking: bool, device: torch.device
) -> TrainingArguments:
    n_steps = int(np.ceil(n_learning / options.batch_size))
    every = max(1, n_steps // options.looks) if looking else options.save_every
    return TrainingArguments(
        output_dir=str(folder),
        per_device_train_batch_size=options.batch_size,
        learning_rate=options.learning_rate,
        num_train_epochs=options.epochs,
        warmup_steps=int(options.warmup * n_steps * options.epochs),
        weight_decay=options.weight_decay,
        seed=options.seed,
        data_seed=options.seed,
        eval_strategy="steps" if looking else "no",
        eval_steps=every if looking else None,
        save_strategy="steps",
        save_steps=every,
        load_best_model_at_end=looking,
        metric_for_best_model="gain" if looking else None,
        greater_is_better=True if looking else None,
        logging_strategy="steps",
        logging_steps=50,
        remove_unused_columns=False,
        dataloader_pin_memory=False,
        disable_tqdm=True,
        report_to="none",
        use_cpu=device.type == "cpu",
        full_determinism=False,
    )
