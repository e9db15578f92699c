"""`do = "ablate"`: what a task's metrics lose without some heads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from headscope.errors import UsageError
from headscope.studies.room import Room, lower
from headscope.studies.shape import Shape
from headscope.studies.step import STEPS, At, Cost, Job, Step


@STEPS.register("ablate")
class Ablate(Step):
    """Heads, layers, or the roles and clusters of another step's run, switched off."""

    kind: ClassVar[str] = "ablate"
    model: str
    task: str
    data: str = Field("", description="the data sets' folder, below --data")
    by: str = "head"
    how: Literal["uniform", "zero", "mean", "intra", "inter"] = "uniform"
    combine: list[Literal["single", "pairs", "all-but-one"]] = Field(default=["single"])
    run: str | None = Field(None, description="the step with the roles or clusters")
    rows: int | None = Field(None, ge=2)
    importance: bool = True
    max_tokens: int | None = Field(None, ge=2)
    seed: int = Field(0, ge=0)
    resamples: int = Field(9999, ge=99)
    shard_size: int = Field(64, ge=1, description="examples between checkpoints")

    def models(self) -> Mapping[str, str]:
        return {"model": self.model}

    def steps(self) -> Mapping[str, list[str]]:
        return {} if self.run is None else {"run": [self.run]}

    def check(self, room: Room, at: At) -> None:
        from headscope.ablations.selection import parse_by

        try:
            kind, _ = parse_by(self.by)
        except UsageError as error:
            room.file.refuse((*at, "by"), str(error), "head, layer, role, cluster, set:3-1 …")
        if kind in ("role", "cluster") and self.run is None:
            room.file.refuse((*at, "by"), f"{self.by!r} and no run", "run = the step that has them")
        room.task_part(self.task, "dev", self.data, at)

    def _asked(self, room: Room) -> dict[str, Any]:
        return {
            "by": self.by,
            "how": self.how,
            "combine": tuple(self.combine),
            "importance": self.importance,
            "max_tokens": lower(self.max_tokens, room.limits.max_tokens),
            "seed": self.seed,
            "n_resamples": self.resamples,
            "shard_size": self.shard_size,
        }

    def _rows(self, room: Room) -> int | None:
        return lower(self.rows, room.limits.rows)

    def identity(self, room: Room, at: At) -> Mapping[str, Any]:
        data = room.task_identity(self.task, "dev", self.data, at)
        return {"data": data, "rows": self._rows(room), **self._asked(room)}

    def cost(self, room: Room, shapes: Mapping[str, Shape], at: At) -> Cost:
        shape = shapes["model"]
        n, tokens = room.task_tokens(self.task, "dev", self.data, self._rows(room), at)
        n_edits = {"head": shape.n_heads, "layer": shape.n_layers}.get(self.by, 12)
        gradient = 3.0 if self.importance and self.by == "head" else 0.0
        flops = shape.flops(tokens) * (1 + gradient + 0.55 * n_edits)
        return Cost(flops, 6.0 + n_edits * n * 4e-5 * self.resamples / 1000, 1_000_000)

    def carry_out(self, job: Job) -> Mapping[str, Any]:
        from headscope.engine.ablate import AblationOptions, ablate
        from headscope.engine.task_data import load_for_task, read_part
        from headscope.tasks import DataOptions, find_task

        room = job.room
        model, task = load_for_task(job.source(self.model), find_task(self.task), device=job.device)
        reading = DataOptions(rows=self._rows(room), seed=self.seed)
        folder = room.path(self.data or ".", ("steps", job.name, "data"))
        task, split = read_part(task, "dev", data=folder, options=reading)
        ablate(
            model,
            task,
            split,
            job.folder,
            options=AblationOptions(**self._asked(room)),
            roles_of=None if self.run is None else job.run(self.run),
            resume=job.begun,
            progress=job.progress,
            executor=job.executor,
        )
        return {}
