"""`do = "scores"`: what fine-tuned models score on their own dev data, in one table."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from headscope.store import ModelRecord
from headscope.studies.made_run import write_tables
from headscope.studies.room import Room
from headscope.studies.shape import Shape
from headscope.studies.step import STEPS, At, Cost, Job, Step


@STEPS.register("scores")
class Scores(Step):
    """The table `scores`: model, task, metric, value, n and how many rows were learnt from."""

    kind: ClassVar[str] = "scores"
    finetunings: list[str] = Field(min_length=1)

    def models(self) -> Mapping[str, str]:
        return {f"finetunings.{i}": name for i, name in enumerate(self.finetunings)}

    def check(self, room: Room, at: At) -> None:
        for name in self.finetunings:
            if name not in room.file.document.finetunings:
                known = ", ".join(room.file.document.finetunings) or "none"
                room.file.refuse((*at, "finetunings"), f"{name!r}", f"one of {known}")

    def identity(self, room: Room, at: At) -> Mapping[str, Any]:
        return {}

    def cost(self, room: Room, shapes: Mapping[str, Shape], at: At) -> Cost:
        return Cost(0.0, 1.0, 50_000)

    def carry_out(self, job: Job) -> Mapping[str, Any]:
        names = ("model", "task", "metric", "value", "n", "n_train")
        columns: dict[str, list[Any]] = {name: [] for name in names}
        for name in self.finetunings:
            record = Path(job.models[name]) / "finetune.json"
            if not record.is_file():
                continue  # somebody else tuned it
            told = json.loads(record.read_text(encoding="utf-8"))
            counts = told["result"]["counts"]
            for metric, value in told["result"]["dev"].items():
                row = (name, told["request"]["task"], metric, float(value))
                cells = (*row, counts["n_dev"], counts["n_train"])
                for column, cell in zip(names, cells, strict=True):
                    columns[column].append(cell)
        named = ", ".join(self.finetunings)
        write_tables(job.folder, {"scores": columns}, model=ModelRecord(name=named))
        return {}
