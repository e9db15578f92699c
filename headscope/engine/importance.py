"""Importance of every head to a task's loss, from one backward pass per batch, as a run."""

from __future__ import annotations

import time
from pathlib import Path

from headscope.analyses import run_analyses
from headscope.engine.progress import Progress, Silent
from headscope.engine.task_gradients import task_gradients
from headscope.engine.task_record import task_record
from headscope.figures import render_report
from headscope.measures import Total
from headscope.measures.head_importance import HeadImportance
from headscope.models import LoadedModel
from headscope.store import MeasureRecord, Run, RunWriter, open_run
from headscope.tasks import Split, Task


def importance(
    model: LoadedModel,
    task: Task,
    split: Split,
    output: Path,
    *,
    max_tokens: int | None = None,
    progress: Progress | None = None,
) -> Run:
    """Write the importance of every head to the loss of a task as a run."""
    progress = progress or Silent()
    started = time.monotonic()
    task = task.for_model(model)
    encoder = task.encoder(model, max_tokens)
    prepared, counts = task.prepare(split, encoder)
    measure = HeadImportance()
    spec = measure.spec()
    told = MeasureRecord(
        name=measure.name,
        version=measure.version,
        parameters={**spec["parameters"], "max_tokens": encoder.max_tokens},
    )
    record = task_record(model, task, split, prepared, counts, told)
    with RunWriter.open(output, record) as writer:
        progress.stage("Importance by gradient", len(prepared))
        values = task_gradients(model, task, [measure], prepared, advance=progress.advance)
        total = Total(model.layout, {place: value for (_, place), value in values.items()})
        seconds = {"pass_seconds": time.monotonic() - started}
        results = {measure.name: measure.finish(total)}
        writer.complete(results, writer.record.updated(timings=seconds))
    run = open_run(output)
    run_analyses(run)
    progress.stage("Drawing the report")
    run.write_file("report.html", render_report(run))
    return run
