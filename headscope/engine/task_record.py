"""What a run about a task was asked, for its run.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from headscope.models import LoadedModel
from headscope.store import (
    CorpusRecord,
    MeasureRecord,
    ModelRecord,
    Request,
    RunRecord,
    StackRecord,
)
from headscope.tasks import Prepared, Split, Task


def task_record(
    model: LoadedModel,
    task: Task,
    split: Split,
    prepared: Sequence[Prepared],
    counts: Mapping[str, int],
    measures: Sequence[MeasureRecord],
    settings: Mapping[str, Any],
    carried: str | None = None,
    engine: Mapping[str, Any] | None = None,
) -> RunRecord:
    """The record of a run over the examples of a task."""
    files = ", ".join(Path(name).name for name in split.files)
    return RunRecord(
        request=Request(
            model={"name": model.name},
            corpus={"task": task.name, "part": split.name, "carried": carried},
            measures=tuple(measures),
            settings=dict(settings),
            seeds={"bootstrap": settings.get("seed", 0)},
            engine=dict(engine or {"name": "local", "threads": torch.get_num_threads()}),
        ),
        model=ModelRecord(
            name=model.name,
            family=model.family,
            fingerprint=model.fingerprint(),
            stacks=tuple(
                StackRecord(stack=s.stack, n_layers=s.n_layers, n_heads=max(s.n_heads))
                for s in model.layout.stacks
            ),
            dtype=model.dtype,
            n_parameters=model.n_parameters,
        ),
        corpus=CorpusRecord(
            name=f"{task.title} {split.name} ({files})",
            fingerprint=split.fingerprint,
            n_sequences=len(prepared),
            files=split.files,
        ),
        counts={
            "n_sequences": len(prepared),
            "n_tokens": sum(p.n_tokens for p in prepared),
            **counts,
        },
        notes=tuple(_notes(counts)),
    )


def _notes(counts: Mapping[str, int]) -> list[str]:
    notes = []
    if counts.get("n_cut"):
        notes.append(f"{counts['n_cut']} inputs were too long and were cut at the end")
    if counts.get("n_skipped"):
        notes.append(f"{counts['n_skipped']} examples were left out: too long, or nothing to ask")
    return notes
