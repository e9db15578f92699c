"""From names on a command line to a task's examples and a model with the head they need."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from headscope.corpora import Source
from headscope.errors import UsageError
from headscope.models import LoadedModel, load
from headscope.models.loading import NoHeadError
from headscope.tasks import DataOptions, Part, PartSource, Split, Task, find_part


def part_of(task: Task, part: Part, data: Path | None, file: Path | None) -> PartSource:
    """The file of a part: the one that is named, else the one in the data set's folder."""
    if file is not None:
        return PartSource(part, Source(file.expanduser()))
    if data is None:
        raise UsageError(f"no data for {task.title}; expected --data DIR or --{part} FILE")
    return find_part(data, part, task.title, halves=task.halves)


def read_part(
    task: Task,
    part: Part,
    *,
    data: Path | None = None,
    file: Path | None = None,
    options: DataOptions | None = None,
) -> tuple[Task, Split]:
    """The examples of a part, and the task with what its data tell about it."""
    source, options = part_of(task, part, data, file), options or DataOptions()
    if part == "train":
        task = task.learnt(source, options)
    return task, task.read(source, options)


def load_for_tuning(name: str, task: Task, seed: int, **options: Any) -> LoadedModel:
    """A model with the head a task needs, new where it has none; the seed makes it the same."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = load(name, head=task.head, new_head=True, changes=task.head_changes(), **options)
    pad = getattr(model.config, "pad_token_id", None)
    if pad is None and task.head == "sequence-classification":
        # decoders find a text's last token by what is no padding
        model.config.pad_token_id = model.tokenizer.pad_token_id or model.tokenizer.eos_token_id
    return model


def load_for_task(name: str, task: Task, **options: Any) -> tuple[LoadedModel, Task]:
    """A model that has the head a task needs, trained, and the task in its terms."""
    try:
        model = load(name, head=task.head, new_head=False, **options)
    except NoHeadError as error:
        raise UsageError(
            f"{error}, and {task.title} needs one; "
            f"give it one with: headscope finetune {name} --task {task.name}"
        ) from None
    return model, task.for_model(model)
