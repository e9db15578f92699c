"""`[finetunings.NAME]`: a model trained on a task, to be named wherever a model is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from headscope.studies.room import Room, lower
from headscope.studies.shape import Shape
from headscope.studies.step import STEPS, At, Cost, Job, Step


@STEPS.register("finetune")
class Finetune(Step):
    """Fine-tuning with the papers' settings unless others are given.

    `ready` names a model that somebody has tuned already: it is used instead, as long as the model
    it starts from is the one that the file names.
    """

    kind: ClassVar[str] = "finetune"
    model: str
    task: str
    data: str = Field("", description="the data sets' folder, below --data")
    ready: str | None = None
    train_rows: int | None = Field(None, ge=2)
    dev_rows: int | None = Field(None, ge=2)
    epochs: float = Field(3.0, gt=0)
    batch_size: int = Field(32, ge=1)
    learning_rate: float = Field(2e-5, gt=0)
    max_tokens: int | None = Field(None, ge=2)
    seed: int = Field(0, ge=0)
    save_every: int = Field(100, ge=1, description="training steps between checkpoints")

    def models(self) -> Mapping[str, str]:
        return {"model": self.model}

    def instead(self, room: Room) -> str | None:
        return None if room.file.replaced else self.ready

    def check(self, room: Room, at: At) -> None:
        if (ready := self.instead(room)) is not None:
            from headscope.errors import ModelError
            from headscope.models.loading import find_model

            try:
                find_model(ready)
            except ModelError as error:
                room.file.refuse((*at, "ready"), str(error), "a model that can be loaded")
            return
        for part in ("train", "dev"):
            room.task_part(self.task, "train" if part == "train" else "dev", self.data, at)

    def _rows(self, room: Room) -> tuple[int | None, int | None]:
        limits = room.limits
        return lower(self.train_rows, limits.train_rows), lower(self.dev_rows, limits.rows)

    def options(self, room: Room) -> dict[str, Any]:
        limits = room.limits
        epochs = self.epochs if limits.epochs is None else min(self.epochs, limits.epochs)
        return {
            "epochs": epochs,
            "batch_size": self.batch_size,
            "learning_rate": self.learning_rate,
            "max_tokens": lower(self.max_tokens, limits.max_tokens),
            "seed": self.seed,
            "save_every": self.save_every,
        }

    def identity(self, room: Room, at: At) -> Mapping[str, Any]:
        if (ready := self.instead(room)) is not None:
            return {"ready": ready}
        parts = [room.task_identity(self.task, p, self.data, at) for p in ("train", "dev")]
        return {"data": parts, "rows": self._rows(room), "options": self.options(room)}

    def cost(self, room: Room, shapes: Mapping[str, Shape], at: At) -> Cost:
        if self.instead(room) is not None:
            return Cost()
        shape, (train, dev) = shapes["model"], self._rows(room)
        _, learnt = room.task_tokens(self.task, "train", self.data, train, at)
        _, scored = room.task_tokens(self.task, "dev", self.data, dev, at)
        epochs = self.options(room)["epochs"]
        # forward, backward, and the step itself; checkpoints hold the weights three times
        flops = shape.flops(learnt) * 3.6 * epochs + shape.flops(scored)
        return Cost(flops, 6.0, 4 * shape.n_parameters)

    def carry_out(self, job: Job) -> Mapping[str, Any]:
        from headscope.engine.task_data import read_part
        from headscope.engine.tune import tune
        from headscope.tasks import DataOptions, find_task
        from headscope.tuning import TuningOptions

        room, (train_rows, dev_rows) = job.room, self._rows(job.room)
        folder = room.path(self.data or ".", ("finetunings", job.name, "data"))
        learning = DataOptions(rows=train_rows, seed=self.seed)
        task, train = read_part(find_task(self.task), "train", data=folder, options=learning)
        task, dev = read_part(
            task, "dev", data=folder, options=DataOptions(rows=dev_rows, seed=self.seed)
        )
        tuned = tune(
            job.source(self.model),
            task,
            train,
            dev,
            job.folder,
            options=TuningOptions(**self.options(room)),
            resume=job.begun,
            progress=job.progress,
            device=job.device,
        )
        counts = tuned.record["result"]["counts"]
        return {
            "task": task.title,
            "dev": dict(tuned.dev),
            "n_train": counts["n_train"],
            "n_dev": counts["n_dev"],
        }

    def made_run(self, folder: Path) -> Path | None:
        return None

    def made_models(self, folder: Path) -> Mapping[str, Path]:
        return {"": folder}
