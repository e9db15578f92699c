"""`do = "finetune-pools"`: tuned from the last layer, the best layer, or the best heads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field

from headscope.store import CorpusRecord, ModelRecord
from headscope.studies.made_run import write_tables
from headscope.studies.room import Room, lower
from headscope.studies.shape import Shape
from headscope.studies.step import STEPS, At, Cost, Job, Step


@STEPS.register("finetune-pools")
class FinetunePools(Step):
    """Jo & Myaeng's Table 4: a run with the table `pools`, and models `NAME:last`, `NAME:top-n`."""

    kind: ClassVar[str] = "finetune-pools"
    model: str
    task: str
    data: str = ""
    pools: list[Literal["last", "best", "top-n"]] = Field(default=["last", "best", "top-n"])
    seeds: int = Field(5, ge=1)
    n_heads: int | None = Field(None, ge=1)
    train_rows: int | None = Field(None, ge=2)
    dev_rows: int | None = Field(None, ge=2)
    epochs: float = Field(3.0, gt=0)
    batch_size: int = Field(32, ge=1)
    learning_rate: float = Field(2e-5, gt=0)
    max_tokens: int | None = Field(None, ge=2)

    def models(self) -> Mapping[str, str]:
        return {"model": self.model}

    def check(self, room: Room, at: At) -> None:
        room.task_part(self.task, "train", self.data, at)
        room.task_part(self.task, "dev", self.data, at)

    def _rows(self, room: Room) -> tuple[int | None, int | None]:
        limits = room.limits
        return lower(self.train_rows, limits.train_rows), lower(self.dev_rows, limits.rows)

    def _seeds(self, room: Room) -> int:
        return lower(self.seeds, room.limits.seeds) or 1

    def _options(self, room: Room) -> dict[str, Any]:
        limits = room.limits
        return {
            "epochs": self.epochs if limits.epochs is None else min(self.epochs, limits.epochs),
            "batch_size": self.batch_size,
            "learning_rate": self.learning_rate,
            "max_tokens": lower(self.max_tokens, limits.max_tokens),
        }

    def identity(self, room: Room, at: At) -> Mapping[str, Any]:
        parts = [room.task_identity(self.task, p, self.data, at) for p in ("train", "dev")]
        return {
            "data": parts,
            "rows": self._rows(room),
            "pools": self.pools,
            "seeds": self._seeds(room),
            "n_heads": self.n_heads,
            "options": self._options(room),
        }

    def cost(self, room: Room, shapes: Mapping[str, Shape], at: At) -> Cost:
        shape, (train, dev) = shapes["model"], self._rows(room)
        n, learnt = room.task_tokens(self.task, "train", self.data, train, at)
        _, scored = room.task_tokens(self.task, "dev", self.data, dev, at)
        times = len(self.pools) * self._seeds(room)
        each = shape.flops(learnt) * 3.6 * self._options(room)["epochs"] + shape.flops(scored)
        probing = shape.n_heads * 5 * n * 2 * 2e-6
        return Cost(
            each * times + shape.flops(learnt + scored),
            6.0 * times + probing,
            4 * shape.n_parameters * times,
        )

    def carry_out(self, job: Job) -> Mapping[str, Any]:
        from headscope.engine.task_data import read_part
        from headscope.engine.tune_pools import tune_pools
        from headscope.tasks import DataOptions, find_task
        from headscope.tuning import TuningOptions

        room, (train_rows, dev_rows) = job.room, self._rows(job.room)
        folder = room.path(self.data or ".", ("steps", job.name, "data"))
        task, train = read_part(
            find_task(self.task), "train", data=folder, options=DataOptions(rows=train_rows)
        )
        task, dev = read_part(task, "dev", data=folder, options=DataOptions(rows=dev_rows))
        models = job.folder / "models"
        tune_pools(
            job.source(self.model),
            task,
            train,
            dev,
            models,
            pools=self.pools,
            seeds=range(self._seeds(room)),
            n_heads=self.n_heads,
            options=TuningOptions(**self._options(room)),
            resume=models.is_dir(),
            progress=job.progress,
            device=job.device,
        )
        told = json.loads((models / "pools.json").read_text(encoding="utf-8"))
        run = write_tables(
            job.folder / "run",
            {"pools": pool_rows(told, len(dev.examples))},
            model=ModelRecord(name=Path(job.source(self.model)).name),
            corpus=CorpusRecord(name=f"{task.title} dev", n_sequences=len(dev.examples)),
            settings={"pools": told},
        )
        return {"n_dev": len(dev.examples), "run": str(run.path)}

    def made_run(self, folder: Path) -> Path | None:
        return folder / "run"

    def made_models(self, folder: Path) -> Mapping[str, Path]:
        return {pool: folder / "models" / pool / "seed-0" for pool in self.pools}


def pool_rows(told: Mapping[str, Any], n: int) -> dict[str, list[Any]]:
    """One row per pool, seed and metric.

    >>> pools = {"last": {"reads": {}, "seeds": {"0": {"f1": 0.5}}}}
    >>> pool_rows({"task": "MRPC", "pools": pools}, 4)["value"]
    [0.5]
    """
    columns: dict[str, list[Any]] = {
        name: [] for name in ("task", "pool", "seed", "metric", "value", "n")
    }
    for pool, found in told["pools"].items():
        for seed, scores in found["seeds"].items():
            for metric, value in scores.items():
                row = (told["task"], pool, int(seed), metric, float(value), n)
                for name, cell in zip(columns, row, strict=True):
                    columns[name].append(cell)
    return columns
