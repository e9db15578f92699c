"""Fine-tuning a model on a task, resumable, into a normal Hugging Face folder."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers

from headscope.errors import UsageError
from headscope.models import LoadedModel
from headscope.models.loading import quiet
from headscope.store.durable import sync_file
from headscope.tasks import Split, Task, answer
from headscope.tuning.folder import TuningFolder
from headscope.tuning.model_card import model_card
from headscope.tuning.options import TuningOptions
from headscope.tuning.saving import saving
from headscope.tuning.trainer import TaskTrainer
from headscope.version import __version__

Save = Callable[[LoadedModel, Path], None]


@dataclass(frozen=True)
class Tuned:
    """A finished fine-tuning: its folder, and the scores on the dev split by metric."""

    path: Path
    dev: Mapping[str, float]
    record: Mapping[str, Any]


def save_pretrained(model: LoadedModel, folder: Path) -> None:
    """The model and its tokenizer as transformers writes them."""
    with quiet(transformers):
        saved: Any = model.model
        saved.save_pretrained(folder)
        model.tokenizer.save_pretrained(folder)


def finetune(
    model: LoadedModel,
    task: Task,
    train: Split,
    dev: Split,
    output: Path,
    *,
    options: TuningOptions | None = None,
    base: str = "",
    asked: Mapping[str, Any] | None = None,
    save: Save = save_pretrained,
    resume: bool = False,
    stage: Callable[[str, int], None] = lambda title, total: None,
    advance: Callable[[int], None] = lambda n: None,
) -> Tuned:
    """Train `model` on `train`, score it on `dev` and write it to `output`.

    The model has the head the task needs already (a new one, or one to go on with), and any module
    will do whose output the task understands; `save` writes it. `asked` is whatever else the
    request consists of. A killed training goes on at its last checkpoint with `resume=True` and
    ends with the same weights.
    """
    options = options or TuningOptions()
    folder = TuningFolder(output)
    folder.check(resume=resume)
    encoder = task.encoder(model, options.max_tokens)
    learning, learnt = task.prepare(train, encoder, learning=True)
    scoring, scored = task.prepare(dev, encoder)
    held: list[Any] = []
    if options.patience is not None:
        order = np.random.default_rng(options.seed).permutation(len(learning))
        n_held = max(1, round(options.held_out * len(learning)))
        if n_held >= len(learning):
            raise UsageError(f"{len(learning)} training examples are too few to hold some out")
        held = [learning[i] for i in sorted(order[:n_held])]
        learning = [learning[i] for i in sorted(order[n_held:])]
    counts = {
        "n_train": len(learning),
        "n_held_out": len(held),
        "n_dev": len(scoring),
        **{f"n_train{name.removeprefix('n')}": n for name, n in learnt.items()},
        **{f"n_dev{name.removeprefix('n')}": n for name, n in scored.items()},
    }
    request = {
        "headscope": __version__,
        "base": base or model.name,
        "task": task.name,
        "options": options.model_dump(mode="json"),
        "max_tokens": encoder.max_tokens,
        "train": train.fingerprint,
        "dev": dev.fingerprint,
        **(asked or {}),
    }
    with contextlib.closing(folder):
        record = folder.begin(request, resume=resume)
        if record["status"] == "complete":
            folder.tidy()  # a crash right after completion leaves things behind
            return Tuned(folder.path, record["result"]["dev"], record)
        started = time.monotonic()
        n_steps = math.ceil(math.ceil(len(learning) / options.batch_size) * options.epochs)
        stage(f"Fine-tuning on {task.title}", n_steps)
        trainer = TaskTrainer(model, task, learning, held, options, folder.training, advance)
        last, notes = folder.checkpoint()
        with _training(model), saving(folder.path):
            trainer.train(resume_from_checkpoint=None if last is None else str(last))
        stage(f"Scoring on {dev.name}", len(scoring))
        dev_scores = task.scores(answer(model, task, scoring, advance=advance), scoring)
        result = {
            "dev": dict(dev_scores),
            "counts": counts,
            "steps": trainer.state.global_step,
            "seconds": round(time.monotonic() - started, 1),
            "history": [
                {k: v for k, v in entry.items() if k in ("step", "loss") or k.startswith("eval_")}
                for entry in trainer.state.log_history
            ],
        }
        staging = folder.staging()
        card = model_card(folder.path.name, request["base"], task.title, request, result)
        with saving(folder.path):
            save(model, staging)
            (staging / "README.md").write_text(card, encoding="utf-8")
            for file in staging.rglob("*"):
                if file.is_file():
                    sync_file(file)
        done = {**record, "result": result, **({"notes": notes} if notes else {})}
        folder.complete(done)
        return Tuned(folder.path, dev_scores, {**done, "status": "complete"})


@contextlib.contextmanager
def _training(model: LoadedModel) -> Iterator[None]:
    """Training mode, silence and a random state of its own for as long as the block lasts."""
    with torch.random.fork_rng(), quiet(transformers):
        model.model.train()
        try:
            yield
        finally:
            model.model.eval()
