"""Parsing probes from two treebanks to a finished run."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import torch
from pydantic import BaseModel, ConfigDict, Field

from headscope.corpora import Corpus, Dropped, TooLong
from headscope.engine.plan import encoder_for
from headscope.engine.progress import Progress, Silent
from headscope.errors import UsageError
from headscope.figures import render_report
from headscope.models import LoadedModel
from headscope.models.random_twin import random_twin
from headscope.probes.line_up import WITH_VECTORS, make_students
from headscope.probes.parse_batch import parsing_stack
from headscope.probes.parse_results import tables
from headscope.probes.parse_training import Classroom, held_out
from headscope.probes.student import Schedule, Student
from headscope.probes.word_vectors import WordVectors
from headscope.store import (
    CorpusRecord,
    MeasureRecord,
    ModelRecord,
    Request,
    Run,
    RunRecord,
    RunWriter,
    SkippedRecord,
    StackRecord,
    open_run,
)
from headscope.types import Encoded, Result

#: Sentences whose maps tell how large the maps' differences are.
_N_SPREAD = 64


class ProbeOptions(BaseModel):
    """How the probes are trained; the same options and threads give the same bits."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    seed: int = Field(0, ge=0, description="of the held-out part, the order and first weights")
    held_out: float = Field(
        0.05, gt=0.0, lt=1.0, description="share of train that says when to stop"
    )
    max_epochs: int = Field(6, ge=1, description="the most that a probe may see of train")
    patience: int = Field(2, ge=1, description="epochs without gain before a probe stops")
    learning_rate: float = Field(0.005, gt=0.0, description="Adam's, for attention alone")
    vectors_learning_rate: float = Field(0.001, gt=0.0, description="Adam's, with word vectors")
    distance_learning_rate: float = Field(0.01, gt=0.0, description="Adam's, for distances")

    def schedule(self, learning_rate: float) -> Schedule:
        """The same limits with one probe's learning rate."""
        return Schedule(learning_rate, self.max_epochs, self.patience)


def vocabulary(*corpora: Corpus) -> set[str]:
    """Every word of some corpora."""
    return {
        sequence.word_text(i)
        for corpus in corpora
        for sequence in corpus
        for i in range(len(sequence.words or ()))
    }


def check_trees(*corpora: Corpus) -> None:
    """Refuse a corpus without a single tree, before any work."""
    for corpus in corpora:
        if not corpus.scan().annotations.get("dependencies"):
            raise UsageError(
                f"{corpus!r} has no dependencies; expected a treebank, such as CoNLL-U"
            )


def parse_probe(
    model: LoadedModel,
    train: Corpus,
    dev: Corpus,
    output: Path,
    *,
    vectors: WordVectors | None = None,
    options: ProbeOptions | None = None,
    max_tokens: int | None = None,
    long: Literal["cut", "skip"] = "cut",
    dropped: Literal["refuse", "skip"] = "refuse",
    resume: bool = False,
    progress: Progress | None = None,
) -> Run:
    """Train the probes of Clark et al. (2019, §5) on `train`, score them on `dev`.

    A killed run goes on after its last finished epoch with `resume=True`, and ends with the same
    numbers.
    """
    options, progress = options or ProbeOptions(), progress or Silent()
    started = time.monotonic()
    check_trees(train, dev)
    limits = {"max_tokens": max_tokens, "long": long, "dropped": dropped}
    learning, counts = _sentences(model, train, "train", limits, progress)
    scoring, more = _sentences(model, dev, "dev", limits, progress)
    if len(learning) < 2:
        raise UsageError(
            f"{train!r}: {len(learning)} sentences; expected at least two to learn from"
        )
    chosen, held = held_out(len(learning), options.held_out, options.seed)
    counts |= more | {"n_train": len(chosen), "n_held_out": len(held), "n_dev": len(scoring)}
    counts["n_sequences"] = len(learning) + len(scoring)
    counts["n_tokens"] = sum(e.n_tokens for e in (*learning, *scoring))
    settings = {**options.model_dump(), **limits, "vectors": vectors.sha256 if vectors else None}
    record = _record(model, train, dev, settings, counts, vectors)
    with RunWriter.open(output, record, resume=resume) as writer:
        if not writer.already_complete:
            students = make_students(
                n_maps=sum(model.layout[parsing_stack(model)].n_heads),
                n_dimensions=vectors.n_dimensions if vectors else 0,
                attention=options.schedule(options.learning_rate),
                vectors=options.schedule(options.vectors_learning_rate),
                distance=options.schedule(options.distance_learning_rate),
                seed=options.seed,
            )
            room = _classroom(model, vectors, options.seed)
            parts = [learning[i] for i in chosen], [learning[i] for i in held]
            _train(room, students, *parts, writer, progress)
            trained = time.monotonic()
            for student in students:
                student.graduate()
            progress.stage("Scoring probes", len(scoring))
            found = tables(room, students, scoring, _advance(progress))
            timings = {
                "train_seconds": trained - started,
                "dev_seconds": time.monotonic() - trained,
            }
            results = {"parse_probe": Result(tables=found)}
            writer.complete(results, writer.record.updated(timings=timings))
    run = open_run(output)
    if not (run.path / "report.html").exists():
        progress.stage("Drawing the report")
        run.write_file("report.html", render_report(run))
    return run


def _classroom(model: LoadedModel, vectors: WordVectors | None, seed: int) -> Classroom:
    models = {"model": model}
    if vectors is None:
        return Classroom(models, torch.zeros(1, 0, device=model.device), lambda _: 0, seed)
    models["twin"] = random_twin(model, seed)
    table = torch.from_numpy(vectors.table).to(model.device)
    return Classroom(models, table, vectors.row, seed)


def _train(
    room: Classroom,
    students: Sequence[Student],
    learning: Sequence[Encoded],
    held: Sequence[Encoded],
    writer: RunWriter,
    progress: Progress,
) -> None:
    done = writer.finished_shards()
    if done:
        arrays, told = writer.load_shard(max(done))
        for student in students:
            student.from_arrays(arrays, told[student.name])
    else:
        names = dict.fromkeys(s.reads for s in students if s.reads)
        progress.stage("Measuring the maps", _N_SPREAD * len(names))
        sample = held[:_N_SPREAD]
        spreads = {name: room.measure_spread(name, sample, _advance(progress)) for name in names}
        for student in students:
            student.set_scale(spreads)
    for epoch in range(max(done, default=-1) + 1, max(s.schedule.max_epochs for s in students)):
        active = [s for s in students if not s.done]
        if not active:
            break
        most = max(s.schedule.max_epochs for s in active)
        title = f"Epoch {epoch + 1} of at most {most}, {len(active)} probes"
        progress.stage(title, len(learning) + len(held))
        room.epoch(active, learning, epoch, _advance(progress))
        right, n_words = room.examine(active, held, _advance(progress))
        for student in active:
            student.examined(right[student.name] / max(n_words, 1))
        saved = [s.to_arrays() for s in students]
        writer.save_shard(
            epoch,
            {name: array for arrays, _ in saved for name, array in arrays.items()},
            {s.name: told for s, (_, told) in zip(students, saved, strict=True)},
        )


def _advance(progress: Progress) -> Any:
    return lambda n: progress.advance(n, n)


def _sentences(
    model: LoadedModel,
    corpus: Corpus,
    part: str,
    limits: Mapping[str, Any],
    progress: Progress,
) -> tuple[list[Encoded], dict[str, int]]:
    encoder = encoder_for(model, **limits)
    kept: list[Encoded] = []
    counts = {f"n_{part}_cut": 0, f"n_{part}_skipped": 0, f"n_{part}_without_tree": 0}
    progress.stage(f"Reading {part}", corpus.scan().n_sequences)
    for one in encoder.encode_many(corpus):
        progress.advance(1, 1)
        if isinstance(one, TooLong | Dropped):
            counts[f"n_{part}_skipped"] += 1
        elif one.sequence.dependencies is None or not one.sequence.words:
            counts[f"n_{part}_without_tree"] += 1
        else:
            counts[f"n_{part}_cut"] += one.n_cut > 0
            kept.append(one)
    if not kept:
        raise UsageError(f"{corpus!r}: no sentence with a tree is left; try --long cut")
    return kept, counts


def _record(
    model: LoadedModel,
    train: Corpus,
    dev: Corpus,
    settings: Mapping[str, Any],
    counts: Mapping[str, int],
    vectors: WordVectors | None,
) -> RunRecord:
    first, second = train.scan(), dev.scan()
    files = [file.name for summary in (first, second) for file in summary.files]
    both = hashlib.sha256(f"{first.fingerprint}/{second.fingerprint}".encode()).hexdigest()
    asked = {"options", "limit", "sample", "seed", "annotator"}
    stack = model.layout[parsing_stack(model)]
    reason = "no word vectors were given (--vectors FILE)"
    return RunRecord(
        request=Request(
            model={"name": model.name},
            corpus={
                "train": first.model_dump(mode="json", include=asked),
                "dev": second.model_dump(mode="json", include=asked),
            },
            measures=(MeasureRecord(name="parse_probe", version=1),),
            settings=dict(settings),
            seeds={"probes": settings["seed"]},
            engine={"name": "local", "threads": torch.get_num_threads()},
        ),
        model=ModelRecord(
            name=model.name,
            family=model.family,
            fingerprint=model.fingerprint(),
            stacks=(
                StackRecord(stack=stack.stack, n_layers=stack.n_layers, n_heads=max(stack.n_heads)),
            ),
            dtype=model.dtype,
            n_parameters=model.n_parameters,
        ),
        corpus=CorpusRecord(
            name=f"{_names(first.files)} (train) and {_names(second.files)} (dev)",
            fingerprint=both,
            n_sequences=counts["n_sequences"],
            files=tuple(files),
            annotations={"dependencies": counts["n_sequences"]},
        ),
        skipped=()
        if vectors
        else tuple(SkippedRecord(name=name, reason=reason) for name in WITH_VECTORS),
        counts=dict(counts),
    )


def _names(files: Iterable[Any]) -> str:
    return ", ".join(Path(file.name).name for file in files)
