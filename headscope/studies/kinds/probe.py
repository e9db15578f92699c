"""`do = "probe"`: what every head stores, and what the best heads store together."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from headscope.errors import HeadscopeError
from headscope.studies.room import Room, lower
from headscope.studies.shape import Shape
from headscope.studies.step import STEPS, At, Cost, Job, Step

if TYPE_CHECKING:
    from headscope.probes.probe_task import ProbeTask


@STEPS.register("probe")
class Probe(Step):
    """`tasks` are files of labelled texts below the data folder, or names such as MRPC."""

    kind: ClassVar[str] = "probe"
    model: str
    tasks: list[str] = Field(min_length=1)
    data: str = Field("", description="for names: the data sets' folder, below --data")
    train_rows: int | None = Field(None, ge=2)
    solver: Literal["fast", "senteval"] = "fast"
    curve: Literal["auto", "all", "none"] = "auto"
    pairs: Literal["features", "joint"] = "features"
    controls: int = Field(5, ge=0)
    permutations: int = Field(999, ge=1)
    seed: int = Field(0, ge=0)

    def models(self) -> Mapping[str, str]:
        return {"model": self.model}

    def _files(self, room: Room, at: At) -> dict[str, list[Path]]:
        """Every task's files."""
        found: dict[str, list[Path]] = {}
        for task in self.tasks:
            if "/" in task or "." in task:
                found[task] = [room.path(task, (*at, "tasks"))]
            else:
                room.task(task, at)
                found[task] = [
                    room.task_part(task, "train", self.data, at).source.path,
                    room.task_part(task, "dev", self.data, at).source.path,
                ]
        return found

    def check(self, room: Room, at: At) -> None:
        self._files(room, at)
        try:
            self.read(room, at)
        except HeadscopeError as error:
            room.file.refuse((*at, "tasks"), str(error), "tasks that can be learnt")

    def read(self, room: Room, at: At) -> list[ProbeTask]:
        from headscope.probes.probe_task import thinned
        from headscope.probes.task_files import read_task

        rows = lower(self.train_rows, room.limits.train_rows)
        folder = room.path(self.data, (*at, "data")) if self.data else room.data
        tasks = []
        for name, files in self._files(room, at).items():
            wanted = str(files[0]) if len(files) == 1 else name
            task = read_task(wanted, data=folder, seed=self.seed)
            tasks.append(thinned(task, rows, self.seed))
        return tasks

    def _asked(self) -> dict[str, Any]:
        fields = {"solver", "curve", "pairs", "controls", "permutations", "seed"}
        return self.model_dump(include=fields)

    def identity(self, room: Room, at: At) -> Mapping[str, Any]:
        files = {t: [room.print_of(f) for f in found] for t, found in self._files(room, at).items()}
        rows = lower(self.train_rows, room.limits.train_rows)
        return {"files": files, "rows": rows, **self._asked()}

    def cost(self, room: Room, shapes: Mapping[str, Shape], at: At) -> Cost:
        shape, flops, seconds, wide = shapes["model"], 0.0, 6.0, 0
        for task in self.read(room, at):
            texts = [s.text + (s.pair or "") for s in task.sequences]
            flops += shape.flops(sum(3 + len(t) / 4.2 for t in texts), 24)
            # batched Newton steps, by heads, rows, penalties and controls: measured on MiniLM
            n_fits = shape.n_heads * 5 * (1 + self.controls / 5)
            seconds += n_fits * len(texts) * max(2, len(task.classes)) * 7e-7
            wide += len(texts) * 2 * shape.n_layers * 2 * shape.hidden
        return Cost(flops, seconds, wide)

    def carry_out(self, job: Job) -> Mapping[str, Any]:
        from headscope.engine.probe import ProbeSettings, probe

        probe(
            job.load(self.model),
            self.read(job.room, ("steps", job.name)),
            job.folder,
            settings=ProbeSettings(**self._asked()),
            resume=job.begun,
            progress=job.progress,
            executor=job.executor,
        )
        return {}
