"""The planted classifier and its data, for tests of ablations."""

from __future__ import annotations

from pathlib import Path

import pytest

from headscope.engine.task_data import load_for_task, read_part
from headscope.models import LoadedModel
from headscope.tasks import Prepared, Task, find_task
from tests.label_head import save_label_data, save_label_model

Ready = tuple[LoadedModel, Task, list[Prepared]]


@pytest.fixture(scope="session")
def label_ready(tmp_path_factory: pytest.TempPathFactory) -> Ready:
    """The model in which one head carries the label, its task, and the texts as it reads them."""
    folder: Path = tmp_path_factory.mktemp("label")
    save_label_model(folder / "model")
    data = save_label_data(folder / "data")
    model, task = load_for_task(str(folder / "model"), find_task("classification"))
    task, split = read_part(task, "dev", data=data)
    prepared, _ = task.prepare(split, task.encoder(model))
    return model, task, prepared
