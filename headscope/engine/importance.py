"""What a task's loss says about every head, from one backward pass per batch, as a run."""

from __future__ import annotations

import time
from pathlib import Path

from headscope.analyses import run_analyses
from headscope.engine.progress import Progress, Silent
from headscope.engine.task_gradients import task_gradients
from headscope.engine.task_record import task_record
from headscope.figures import render_report
from headscope.measures import Total
from headscope.measures.attention_gradient import AttentionGradient
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
    """Write how the loss of a task depends on every head, and on where it looks, as a run."""
    progress = progress or Silent()
    started = time.monotonic()
    task = task.for_model(model)
    encoder = task.encoder(model, max_tokens)
    prepared, counts = task.prepare(split, encoder)
    measures = (HeadImportance(), AttentionGradient())
    settings = {"max_tokens": encoder.max_tokens}
    told = tuple(MeasureRecord(**measure.spec()) for measure in measures)
    record = task_record(model, task, split, prepared, counts, told, settings)
    with RunWriter.open(output, record) as writer:
        progress.stage("Gradients of the loss", len(prepared))
        values = task_gradients(model, task, measures, prepared, advance=progress.advance)
        results = {}
        for measure in measures:
            mine = {place: value for (name, place), value in values.items() if name == measure.name}
            results[measure.name] = measure.finish(Total(model.layout, mine))
        seconds = {"pass_seconds": time.monotonic() - started}
        writer.complete(results, writer.record.updated(timings=seconds))
    run = open_run(output)
    run_analyses(run)
    progress.stage("Drawing the report")
    run.write_file("report.html", render_report(run))
    return run
