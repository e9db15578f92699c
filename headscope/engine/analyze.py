"""One pass over a corpus: from a model and files to a finished run."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from headscope.analyses import run_analyses
from headscope.corpora import Corpus, ShuffledCorpus
from headscope.engine.checkpoint import sum_values
from headscope.engine.early_stopping import LOOK_EVERY, Watch, with_evidence
from headscope.engine.executor import Executor
from headscope.engine.executors.local import LocalExecutor
from headscope.engine.layers import chosen_layers
from headscope.engine.left_out import without_broken
from headscope.engine.plan import Plan, applicable, encoder_for, make_plan
from headscope.engine.progress import Progress, Silent
from headscope.engine.settings import Settings
from headscope.engine.shard import Values
from headscope.engine.shard_job import ShardJob, run_shards
from headscope.errors import UsageError
from headscope.figures import render_report
from headscope.measures import MEASURES, GradientMeasure, Measure, Total, build
from headscope.models import Layout, LoadedModel
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
from headscope.types import Result, Skipped


def choose_measures(
    names: Iterable[str] | None = None, parameters: Mapping[str, Mapping[str, Any]] | None = None
) -> list[Measure]:
    """Measures by name, with their parameters; None is the default ones, `all` every one."""
    chosen = [name for name, kind in MEASURES.items() if kind.default]
    if names is not None:
        asked = dict.fromkeys(names)
        chosen = list(MEASURES) if "all" in asked else list(asked)
    parameters = parameters or {}
    for name in parameters:
        if name not in chosen:
            MEASURES[name]  # an unknown name has its own message
            raise UsageError(f"--set {name}.…: the measure {name!r} is not among those asked for")
    return [build(name, parameters.get(name)) for name in chosen]


def head_for(measures: Iterable[Measure]) -> Literal["base", "lm"]:
    """The head a model is to be loaded with for these measures."""
    return "lm" if any(isinstance(m, GradientMeasure) for m in measures) else "base"


def analyze(
    model: LoadedModel,
    corpus: Corpus,
    output: Path,
    *,
    measures: Sequence[Measure] | None = None,
    settings: Settings | None = None,
    max_tokens: int | None = None,
    long: Literal["cut", "skip"] = "cut",
    dropped: Literal["refuse", "skip"] = "refuse",
    resume: bool = False,
    progress: Progress | None = None,
    executor: Executor | None = None,
) -> Run:
    """Measure every head over the corpus and write the run to `output`.

    All that can be wrong with the request is found before anything is written. A run that was
    interrupted goes on at its last finished shard with `resume=True`.
    """
    settings = settings or Settings()
    progress = progress or Silent()
    executor = executor or LocalExecutor()
    started = time.monotonic()
    layout = chosen_layers(model, settings.layers)
    chosen, skipped = applicable(
        choose_measures() if measures is None else measures, corpus.scan().annotations, model
    )
    watch = None
    if (rule := settings.until_decided) is not None:
        chosen = with_evidence(chosen, rule)
        watch = Watch(rule, chosen, layout, corpus.scan().annotations)
        corpus = ShuffledCorpus(corpus, rule.seed)
        size = min(settings.shard_size, LOOK_EVERY)
        settings = settings.model_copy(update={"shard_size": size})
    encoder = encoder_for(model, max_tokens=max_tokens, long=long, dropped=dropped)
    plan = make_plan(corpus, encoder, settings, progress, executor)
    planned = time.monotonic()
    limits = {"max_tokens": encoder.max_tokens, "long": long, "dropped": dropped}
    asked = {**settings.told(), **limits}
    record = _record(model, corpus, chosen, skipped, plan, asked, executor)
    with RunWriter.open(output, record, resume=resume) as writer:
        if not writer.already_complete:
            job = ShardJob(model, chosen, encoder, settings, plan.facts)
            n_shards = run_shards(executor, job, corpus, plan, writer, progress, watch=watch)
            measured = time.monotonic()
            values = sum_values(writer, n_shards)
            timings = {"plan_seconds": planned - started, "pass_seconds": measured - planned}
            request = writer.record.request.model_copy(update={"engine": _engine(executor, model)})
            done = writer.record.updated(timings=timings, request=request)
            if watch is not None:
                done = stopped_record(done, watch, plan, n_shards)
            done = without_broken(done, values)
            writer.complete(finish(chosen, layout, values), done)
    run = open_run(output)
    if not (run.path / "report.html").exists():
        progress.stage("Reading the tables")
        run_analyses(run)
        progress.stage("Drawing the report")
        run.write_file("report.html", render_report(run))
    return run


def stopped_record(record: RunRecord, watch: Watch, plan: Plan, n_shards: int) -> RunRecord:
    """The record of a pass that was allowed to stop early: where it stopped, and by which rule."""
    seen, n_planned = plan.shards[:n_shards], plan.counts["n_sequences"]
    n_sequences = sum(shard.n_sequences for shard in seen)
    note = (
        f"{watch.n_decided} of {watch.n_pairs} heads × roles were decided after {n_sequences} of "
        f"{n_planned} sequences, taken in random order"
    )
    counts = {"n_sequences": n_sequences, "n_tokens": sum(shard.n_tokens for shard in seen)}
    return record.updated(
        stopping=watch.told(n_sequences, n_planned),
        counts={**record.counts, **counts},
        notes=[*record.notes, note],
    )


def finish(measures: Sequence[Measure], layout: Layout, values: Values) -> dict[str, Result]:
    """Every measure's sum over the shards as its tables."""
    results: dict[str, Result] = {}
    for measure in measures:
        mine = {place: value for (name, place), value in values.items() if name == measure.name}
        results[measure.name] = measure.finish(Total(layout, mine))
    return results


def _record(
    model: LoadedModel,
    corpus: Corpus,
    measures: Sequence[Measure],
    skipped: Sequence[Skipped],
    plan: Plan,
    settings: Mapping[str, Any],
    executor: Executor,
) -> RunRecord:
    summary = corpus.scan()
    names = ", ".join(Path(file.name).name for file in summary.files)
    stacks = tuple(
        StackRecord(stack=s.stack, n_layers=s.n_layers, n_heads=max(s.n_heads))
        for s in model.layout.stacks
    )
    return RunRecord(
        request=Request(
            model={"name": model.name},
            corpus=summary.model_dump(
                mode="json", include={"options", "limit", "sample", "annotator"}
            ),
            measures=tuple(MeasureRecord(**measure.spec()) for measure in measures),
            settings=dict(settings),
            seeds={"sample": summary.seed},
            engine=_engine(executor, model),
        ),
        model=ModelRecord(
            name=model.name,
            family=model.family,
            fingerprint=model.fingerprint(),
            stacks=stacks,
            dtype=model.dtype,
            n_parameters=model.n_parameters,
        ),
        corpus=CorpusRecord(
            name=names,
            fingerprint=summary.fingerprint,
            n_sequences=summary.n_sequences,
            files=tuple(file.name for file in summary.files),
            annotations=summary.annotations,
            tokens_fingerprint=plan.tokens_digest,
        ),
        skipped=tuple(SkippedRecord(name=s.name, reason=s.reason) for s in skipped),
        counts=plan.counts,
        notes=tuple(_notes(plan, settings)),
    )


def _engine(executor: Executor, model: LoadedModel) -> dict[str, Any]:
    return {**executor.told(), "device": str(model.device)}


def _notes(plan: Plan, settings: Mapping[str, Any]) -> list[str]:
    counts, notes = plan.counts, []
    if layers := settings.get("layers"):
        listed = ", ".join(map(str, layers))
        which = f"layers {listed} were" if len(layers) > 1 else f"layer {listed} was"
        notes.append(f"only {which} looked at, by request")
    limit = settings["max_tokens"]
    if counts["n_cut"]:
        notes.append(
            f"{counts['n_cut']} sequences were longer than {limit} tokens and were cut at the end "
            f"({counts['n_cut_tokens']} tokens lost)"
        )
    if counts["n_skipped_long"]:
        notes.append(f"{counts['n_skipped_long']} sequences over {limit} tokens were skipped")
    if counts["n_skipped_dropped"]:
        n = counts["n_skipped_dropped"]
        notes.append(f"{n} sequences had words the tokenizer gives no token and were skipped")
    return notes
