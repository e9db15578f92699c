"""`do = "parse-probe"`: small parsers that read all attention maps of a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from headscope.studies.room import Room
from headscope.studies.shape import Shape
from headscope.studies.step import STEPS, At, Cost, Job, Step


@STEPS.register("parse-probe")
class ParseProbe(Step):
    """Trained on one treebank, scored on another; `vectors` are static ones of the words."""

    kind: ClassVar[str] = "parse-probe"
    model: str
    train: str
    dev: str
    vectors: str | None = Field(None, description="a file below --data")
    max_epochs: int = Field(6, ge=1)
    seed: int = Field(0, ge=0)

    def models(self) -> Mapping[str, str]:
        return {"model": self.model}

    def corpora(self) -> Mapping[str, str]:
        return {"train": self.train, "dev": self.dev}

    def check(self, room: Room, at: At) -> None:
        if self.vectors is not None:
            room.path(self.vectors, (*at, "vectors"))
        for field, name in self.corpora().items():
            if not room.corpus(name).scan().annotations.get("dependencies"):
                room.file.refuse((*at, field), f"{name!r}, which has no trees", "a treebank")

    def _epochs(self, room: Room) -> int:
        limit = room.limits.epochs
        return self.max_epochs if limit is None else min(self.max_epochs, limit)

    def identity(self, room: Room, at: At) -> Mapping[str, Any]:
        path = None if self.vectors is None else room.path(self.vectors, (*at, "vectors"))
        return {
            "train": room.corpus_identity(self.train),
            "dev": room.corpus_identity(self.dev),
            "vectors": None if path is None else room.print_of(path),
            "epochs": self._epochs(room),
            "seed": self.seed,
        }

    def cost(self, room: Room, shapes: Mapping[str, Shape], at: At) -> Cost:
        shape, epochs = shapes["model"], self._epochs(room)
        learnt, scored = room.n_tokens(self.train), room.n_tokens(self.dev)
        passes = 4.0 if self.vectors else 2.0  # the model, its random twin, and the probes' own
        flops = shape.flops(learnt * epochs + scored, 32) * passes
        return Cost(flops, 10.0 + 4e-4 * learnt * epochs, 2_000_000)

    def carry_out(self, job: Job) -> Mapping[str, Any]:
        from headscope.engine.parse_probe import ProbeOptions, parse_probe, vocabulary
        from headscope.probes.word_vectors import read_vectors

        room = job.room
        train, dev = room.corpus(self.train), room.corpus(self.dev)
        known = None
        if self.vectors is not None:
            path = room.path(self.vectors, ("steps", job.name, "vectors"))
            known = read_vectors(path, vocabulary(train, dev))
        parse_probe(
            job.load(self.model),
            train,
            dev,
            job.folder,
            vectors=known,
            options=ProbeOptions(seed=self.seed, max_epochs=self._epochs(room)),
            resume=job.begun,
            progress=job.progress,
            **room.reading(self.train),
        )
        return {}
