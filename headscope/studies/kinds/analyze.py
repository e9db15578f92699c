"""`do = "analyze"`: one pass of a model over a corpus, with all measures that are wanted of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from headscope.errors import HeadscopeError
from headscope.studies.room import Room
from headscope.studies.shape import Shape
from headscope.studies.step import STEPS, At, Cost, Job, Step

#: What measures add to a bare pass, in bare passes; gradients need a second, backward pass.
_DEAR = {"gradient": 3.0, "importance": 3.0, "patterns": 1.0}


@STEPS.register("analyze")
class Analyze(Step):
    """Measures of every head over a corpus; roles and clusters are found with the defaults."""

    kind: ClassVar[str] = "analyze"
    model: str
    corpus: str
    measures: list[str] | None = Field(None, description="by default the cheap ones")
    set: dict[str, dict[str, Any]] = Field(default={}, description="parameters by measure")
    shard_size: int = Field(128, ge=1, description="sequences between checkpoints")

    def models(self) -> Mapping[str, str]:
        return {"model": self.model}

    def corpora(self) -> Mapping[str, str]:
        return {"corpus": self.corpus}

    def check(self, room: Room, at: At) -> None:
        from headscope.engine import choose_measures
        from headscope.measures import MEASURES

        for name in self.measures or ():
            if name != "all" and name not in MEASURES:
                try:
                    MEASURES[name]
                except HeadscopeError as error:
                    found, _, known = str(error).partition("; known: ")
                    room.file.refuse((*at, "measures"), found, f"one of {known}")
        try:
            choose_measures(self.measures, self.set)
        except HeadscopeError as error:
            room.file.refuse((*at, "set"), str(error), "parameters that the measures have")

    def identity(self, room: Room, at: At) -> Mapping[str, Any]:
        measures = None if self.measures is None else sorted(self.measures)
        asked = {"measures": measures, "set": self.set, "shard_size": self.shard_size}
        return {**room.corpus_identity(self.corpus), **asked}

    def cost(self, room: Room, shapes: Mapping[str, Shape], at: At) -> Cost:
        shape, n_tokens = shapes["model"], room.n_tokens(self.corpus)
        times = 1.5 + sum(_DEAR.get(name, 0.0) for name in self.measures or ())
        n_sequences = room.corpus(self.corpus).scan().n_sequences
        kept = 12 * shape.n_heads * 12 * min(1000, n_sequences)
        return Cost(shape.flops(n_tokens) * times, 8.0, 4_000_000 + kept)

    def carry_out(self, job: Job) -> Mapping[str, Any]:
        from headscope.engine import Settings, analyze, choose_measures, head_for

        chosen = choose_measures(self.measures, self.set)
        analyze(
            job.load(self.model, head=head_for(chosen)),
            job.room.corpus(self.corpus),
            job.folder,
            measures=chosen,
            settings=Settings(shard_size=self.shard_size),
            resume=job.begun,
            progress=job.progress,
            executor=job.executor,
            **job.room.reading(self.corpus),
        )
        return {}
