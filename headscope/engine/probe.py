"""Head-wise probing: from a model and labelled texts to a finished run."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from headscope.analyses import run_analyses
from headscope.engine.executor import Executor
from headscope.engine.executors.local import LocalExecutor
from headscope.engine.plan import encoder_for
from headscope.engine.progress import Progress, Silent
from headscope.engine.vectors import fill_cache, open_cache
from headscope.errors import HeadscopeError, UsageError
from headscope.figures import render_report
from headscope.models import LoadedModel
from headscope.models.sentence_token import Pooling, default_pooling
from headscope.probes.features import Features
from headscope.probes.head_vectors import VectorLayout
from headscope.probes.probe_table import (
    Found,
    curve_counts,
    packed,
    ranked,
    rows_of,
    task_row,
    unpacked,
)
from headscope.probes.probe_task import ProbeTask
from headscope.probes.protocol import Outcome, Protocol, Rounds
from headscope.probes.senteval_schedule import Schedule
from headscope.probes.solvers import BySchedule, Fast, Ridge, Solver
from headscope.probes.vector_cache import VectorCache, text_key
from headscope.store import (
    CorpusRecord,
    MeasureRecord,
    ModelRecord,
    Request,
    Run,
    RunRecord,
    RunWriter,
    StackRecord,
    open_run,
)
from headscope.types import Result
from headscope.types import Sequence as Text

#: The widest set of features that the curve over n may hold in memory, in bytes.
_MOST_BYTES = 1_500_000_000


class ProbeSettings(BaseModel):
    """How heads are probed; Jo & Myaeng's settings (2020, appendix A.2) are the defaults."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    solver: Literal["fast", "senteval"] = Field("fast", description="exact, or SentEval's schedule")
    l2: tuple[float, ...] = Field((1e-5, 1e-4, 1e-3, 1e-2, 1e-1), description="penalties tried")
    folds: int | None = Field(None, ge=2, description="instead of the validation part")
    pairs: Literal["features", "joint"] = Field(
        "features", description="|u−v| and u·v of two texts, or one text of two segments"
    )
    scale: Literal["none", "spread"] = Field(
        "none", description="vectors as they are, or divided by their spread"
    )
    curve: Literal["auto", "all", "none"] = Field("auto", description="numbers of top heads")
    controls: int = Field(5, ge=0, description="probes per head that learn shuffled labels")
    permutations: int = Field(999, ge=1, description="shuffles of test labels behind a p-value")
    seed: int = Field(0, ge=0, description="of folds, shuffles and first weights")

    def solver_for(self, task: ProbeTask) -> Solver:
        """The solver of a task."""
        if task.is_regression:
            return Ridge()
        return BySchedule(Schedule(), self.seed) if self.solver == "senteval" else Fast()


def probe(
    model: LoadedModel,
    tasks: Sequence[ProbeTask],
    output: Path,
    *,
    settings: ProbeSettings | None = None,
    token: Pooling | None = None,
    cache: Path | None = None,
    max_tokens: int | None = None,
    resume: bool = False,
    progress: Progress | None = None,
    executor: Executor | None = None,
) -> Run:
    """Probe every head and every layer of a model on every task, and its best heads together.

    Sentence vectors are computed once for all tasks, into `cache`, where later runs find them, or
    into the unfinished run. A killed run goes on with `resume=True`: with the vectors after their
    last whole shard, and with the task after the last finished one.
    """
    settings, progress = settings or ProbeSettings(), progress or Silent()
    started = time.monotonic()
    names = [task.name for task in tasks]
    if len(set(names)) < len(names):
        twin = next(name for name in names if names.count(name) > 1)
        raise UsageError(f"two tasks are named {twin!r}; give their files different names")
    for task in tasks:  # what cannot be divided is refused before anything is written
        Rounds.of(task, settings.folds, settings.seed)
    how = token or default_pooling(model)
    encoder = encoder_for(model, max_tokens=max_tokens)
    limits = {"max_tokens": encoder.max_tokens, "token": how}
    executor = executor or LocalExecutor()
    record = _record(model, tasks, {**settings.model_dump(), **limits}, executor.told())
    with RunWriter.open(output, record, resume=resume) as writer:
        if not writer.already_complete:
            folder = cache or writer.path / "checkpoints" / "vectors"
            try:
                opened = open_cache(model, folder, how, encoder)
            except HeadscopeError:
                writer.discard()
                raise
            with opened as vectors:
                texts = [text for task in tasks for text in _texts(task, settings)]
                counts = fill_cache(model, texts, vectors, how, encoder, progress, executor)
                read = time.monotonic()
                results = _probe_all(vectors, tasks, settings, writer, progress)
            timings = {
                "vectors_seconds": read - started,
                "probes_seconds": time.monotonic() - read,
            }
            done = writer.record.updated(
                timings=timings, counts=counts, notes=_notes(counts, encoder.max_tokens)
            )
            writer.complete({"probe": results}, done)
    run = open_run(output)
    if not (run.path / "report.html").exists():
        run_analyses(run)
        progress.stage("Drawing the report")
        run.write_file("report.html", render_report(run))
    return run


def _texts(task: ProbeTask, settings: ProbeSettings) -> list[Text]:
    """What the model reads for a task: pairs apart, or together."""
    if settings.pairs == "joint" or not task.has_pairs:
        return list(task.sequences)
    apart = []
    for one in task.sequences:
        apart.append(replace(one, pair=None))
        apart.append(replace(one, text=one.pair or "", pair=None))
    return apart


def features_of(task: ProbeTask, settings: ProbeSettings, cache: VectorCache) -> Features:
    """The task's rows in the cache."""
    keys = [text_key(text.text, text.pair) for text in _texts(task, settings)]
    index, rows = cache.index(keys), cache.rows()
    if settings.pairs == "joint" or not task.has_pairs:
        return Features(rows, index)
    return Features(rows, index[0::2], index[1::2])


def _probe_all(
    cache: VectorCache,
    tasks: Sequence[ProbeTask],
    settings: ProbeSettings,
    writer: RunWriter,
    progress: Progress,
) -> Result:
    done = writer.finished_shards()
    table: dict[str, list[Any]] = {}
    told: dict[str, list[Any]] = {}
    for number, task in enumerate(tasks):
        if number in done:
            arrays, kept = writer.load_shard(number)
            columns = unpacked(arrays, kept["words"])
            # a checkpoint keeps names sorted: what comes from it gets the order of all others
            about = {name: kept["task"][name] for name in task_row(task, 0.0)}
        else:
            began = time.monotonic()
            title = f"Probing {task.name} ({number + 1} of {len(tasks)})"
            progress.stage(title, cache.layout.n_layers + 1)
            columns = probe_task(task, cache, settings, lambda: progress.advance(1))
            about = task_row(task, round(time.monotonic() - began, 3))
            about["chance"] = None if about["chance"] != about["chance"] else about["chance"]
            arrays, words = packed(columns)
            writer.save_shard(number, arrays, {"words": words, "task": about})
        for into, more in ((table, columns), (told, {k: [v] for k, v in about.items()})):
            for name, values in more.items():
                into.setdefault(name, []).extend(values)
    return Result(tables={"probe": table, "probe_tasks": told})


def probe_task(
    task: ProbeTask,
    cache: VectorCache,
    settings: ProbeSettings,
    advance: Callable[[], None] = lambda: None,
) -> dict[str, list[Any]]:
    """The rows of one task: every head, every layer, last, best, and the top heads together."""
    layout, features = cache.layout, features_of(task, settings, cache)
    rounds = Rounds.of(task, settings.folds, settings.seed)
    if settings.scale == "spread":
        features = replace(features, unit_on=rounds.learn)
    protocol = Protocol(
        task, rounds, settings.solver_for(task), settings.l2, settings.controls, settings.seed
    )
    heads: list[Outcome] = []
    layers: list[Outcome] = []
    for layer in range(layout.n_layers):
        columns = [layout.head(h) for h in layout.heads if h.layer == layer]
        if columns:
            heads += protocol.probe(features.block(columns))
        layers += protocol.probe(features.block([layout.layer(layer)]))
        advance()
    metric = task.metrics[0]
    order = ranked(heads, metric)
    rank = {place: i + 1 for i, place in enumerate(order)}
    best = ranked(layers, metric)[0]
    found = [
        Found("head", heads[i], head.layer, head.head, rank=rank[i])
        for i, head in enumerate(layout.heads)
    ]
    found += [Found("layer", outcome, layer) for layer, outcome in enumerate(layers)]
    last = len(layers) - 1
    found += [Found("last", layers[last], last), Found("best", layers[best], best)]
    found += _top_heads(protocol, features, layout, order, settings)
    advance()
    return rows_of(
        task, layout.stack, found, n_permutations=settings.permutations, seed=settings.seed
    )


def _top_heads(
    protocol: Protocol,
    features: Features,
    layout: VectorLayout,
    order: Sequence[int],
    settings: ProbeSettings,
) -> list[Found]:
    """The first n heads in rank order, side by side, for several n."""
    widths = {w for layer in layout.head_widths for w in layer}
    if len(widths) != 1 or not order:
        return []  # heads of different widths have no equal width to compare at
    n_plain = min(len(order), max(len(layer) for layer in layout.head_widths))
    counts = curve_counts(len(order), n_plain, settings.curve)
    each = features.widened(next(iter(widths))) * features.n_rows * 4
    counts = [n for n in counts if n * each <= _MOST_BYTES or n <= n_plain]
    chosen = [layout.head(layout.heads[i]) for i in order[: max(counts)]]
    wide = features.block(chosen)
    return [
        Found("top_n", outcome, n_heads=n)
        for n, outcome in protocol.probe_prefixes(wide, counts, n_plain)
    ]


def _notes(counts: Mapping[str, int], limit: int) -> list[str]:
    notes = []
    if counts["n_cut"]:
        notes.append(f"{counts['n_cut']} texts were longer than {limit} tokens and were cut")
    if counts["n_too_large"]:
        notes.append(f"{counts['n_too_large']} numbers were too large for float16 and were cut")
    return notes


def _record(
    model: LoadedModel,
    tasks: Sequence[ProbeTask],
    settings: Mapping[str, Any],
    engine: Mapping[str, Any],
) -> RunRecord:
    digest = hashlib.sha256("\n".join(f"{t.name} {t.fingerprint}" for t in tasks).encode())
    return RunRecord(
        request=Request(
            model={"name": model.name},
            corpus={"tasks": [task.name for task in tasks]},
            measures=(MeasureRecord(name="probe", version=1),),
            settings=dict(settings),
            seeds={"probes": settings["seed"]},
            engine=dict(engine),
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
            name=", ".join(task.name for task in tasks),
            fingerprint=digest.hexdigest(),
            n_sequences=sum(len(task.sequences) for task in tasks),
            files=tuple(file for task in tasks for file in task.files),
        ),
    )
