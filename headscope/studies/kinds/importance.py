"""`do = "importance"`: how a task's loss depends on every head and on where it looks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from headscope.studies.room import Room, lower
from headscope.studies.shape import Shape
from headscope.studies.step import STEPS, At, Cost, Job, Step


@STEPS.register("importance")
class Importance(Step):
    """Tables `importance` and `gradient` of a model with the task's head."""

    kind: ClassVar[str] = "importance"
    model: str
    task: str
    data: str = ""
    rows: int | None = Field(None, ge=2)
    max_tokens: int | None = Field(None, ge=2)
    seed: int = Field(0, ge=0)

    def models(self) -> Mapping[str, str]:
        return {"model": self.model}

    def check(self, room: Room, at: At) -> None:
        room.task_part(self.task, "dev", self.data, at)

    def _asked(self, room: Room) -> tuple[int | None, int | None]:
        limits = room.limits
        return lower(self.rows, limits.rows), lower(self.max_tokens, limits.max_tokens)

    def identity(self, room: Room, at: At) -> Mapping[str, Any]:
        data = room.task_identity(self.task, "dev", self.data, at)
        return {"data": data, "asked": self._asked(room), "seed": self.seed}

    def cost(self, room: Room, shapes: Mapping[str, Shape], at: At) -> Cost:
        _, tokens = room.task_tokens(self.task, "dev", self.data, self._asked(room)[0], at)
        return Cost(shapes["model"].flops(tokens) * 4, 5.0, 500_000)

    def carry_out(self, job: Job) -> Mapping[str, Any]:
        from headscope.engine.importance import importance
        from headscope.engine.task_data import load_for_task, read_part
        from headscope.store import remove_run
        from headscope.tasks import DataOptions, find_task

        rows, longest = self._asked(job.room)
        model, task = load_for_task(job.source(self.model), find_task(self.task), device=job.device)
        folder = job.room.path(self.data or ".", ("steps", job.name, "data"))
        reading = DataOptions(rows=rows, seed=self.seed)
        task, split = read_part(task, "dev", data=folder, options=reading)
        remove_run(job.folder)  # a killed one begins anew: it is short
        importance(model, task, split, job.folder, max_tokens=longest, progress=job.progress)
        return {}
