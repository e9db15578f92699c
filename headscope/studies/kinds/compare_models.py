"""`do = "compare-models"`: two models over one corpus in one pass, map by map."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from headscope.studies.room import Room
from headscope.studies.shape import Shape
from headscope.studies.step import STEPS, At, Cost, Job, Step


@STEPS.register("compare-models")
class CompareModels(Step):
    """Cosine of the same head's maps, features, clusters and pattern classes of both models."""

    kind: ClassVar[str] = "compare-models"
    before: str
    after: str
    corpus: str
    twin: bool = Field(True, description="also a twin of the first with random weights")
    shard_size: int = Field(128, ge=1, description="sequences between checkpoints")

    def models(self) -> Mapping[str, str]:
        return {"before": self.before, "after": self.after}

    def corpora(self) -> Mapping[str, str]:
        return {"corpus": self.corpus}

    def identity(self, room: Room, at: At) -> Mapping[str, Any]:
        asked = {"twin": self.twin, "shard_size": self.shard_size}
        return {**room.corpus_identity(self.corpus), **asked}

    def cost(self, room: Room, shapes: Mapping[str, Shape], at: At) -> Cost:
        n_models = 2 + self.twin
        flops = shapes["before"].flops(room.n_tokens(self.corpus)) * (n_models + 2.5)
        return Cost(flops, 10.0, 2_000_000)

    def carry_out(self, job: Job) -> Mapping[str, Any]:
        from headscope.engine import Settings
        from headscope.engine.compare import compare_models

        compare_models(
            job.load(self.before),
            job.load(self.after),
            job.room.corpus(self.corpus),
            job.folder,
            settings=Settings(shard_size=self.shard_size),
            twin=self.twin,
            resume=job.begun,
            progress=job.progress,
            executor=job.executor,
            **job.room.reading(self.corpus),
        )
        return {}
