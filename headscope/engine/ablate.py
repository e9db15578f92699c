"""From a model and a task to a run that says what every ablation changes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from headscope.ablations import Ablation, choose, effects, interactions
from headscope.ablations.run_groups import groups_of
from headscope.ablations.selection import Combine, Groups, accumulated, parse_by
from headscope.analyses import run_analyses
from headscope.engine.executor import Executor, Item
from headscope.engine.executors.local import LocalExecutor
from headscope.engine.progress import Progress, Silent
from headscope.engine.sweep_job import SweepJob, SweepPart
from headscope.engine.task_gradients import task_gradients
from headscope.engine.task_record import task_record
from headscope.errors import UsageError
from headscope.figures import render_report
from headscope.measures import Total
from headscope.measures.head_importance import HeadImportance
from headscope.models import EDITS, LoadedModel
from headscope.stats import percentile_interval, resamples
from headscope.store import MeasureRecord, Run, RunWriter, open_run
from headscope.tasks import Prepared, Split, Task, gold_numbers
from headscope.types import HeadId, Result

Floats = NDArray[np.float64]

#: With a target precision: examples before the first look, and resamples of a look.
_BURN_IN, _N_LOOK = 100, 400


class AblationOptions(BaseModel):
    """What is switched off, how, and how precisely."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    by: str = Field("head", description="which heads together")
    how: str = Field("uniform", description="the edit")
    combine: tuple[Combine, ...] = Field(("single",), description="groups alone, in pairs …")
    renormalise: bool = Field(False, description="intra, inter: rows sum to 1 again")
    steps: int | None = Field(None, ge=1, description="accumulate: at most so many heads")
    precision: float | None = Field(None, gt=0, description="half an interval that is enough")
    importance: bool = Field(True, description="also the gradient's estimate")
    n_resamples: int = Field(9999, ge=99, description="of the paired bootstrap")
    seed: int = Field(0, ge=0, description="of the bootstrap and the order")
    shard_size: int = Field(128, ge=1, description="examples between checkpoints")
    batch_tokens: int = Field(256, ge=1, description="tokens in a batch before it is widened")
    wide_tokens: int = Field(2048, ge=1, description="tokens in a widened batch")
    max_tokens: int | None = Field(None, ge=2, description="longest input; by default the task's")


def ablate(
    model: LoadedModel,
    task: Task,
    split: Split,
    output: Path,
    *,
    options: AblationOptions | None = None,
    roles_of: Run | None = None,
    fast: bool = True,
    resume: bool = False,
    progress: Progress | None = None,
    executor: Executor | None = None,
) -> Run:
    """Switch heads off and write what it does to the task's metrics as a run.

    `roles_of` is a run whose roles and clusters can be selected; they are carried over, so that
    what heads do stands beside what they are for. A killed run goes on with `resume=True`.
    """
    options, progress = options or AblationOptions(), progress or Silent()
    executor = executor or LocalExecutor()
    started = time.monotonic()
    kind, rest = parse_by(options.by)
    groups = Groups() if roles_of is None else groups_of(roles_of)
    ablations = choose(options.by, model.layout, groups, options.combine)
    if options.how not in EDITS:
        EDITS[options.how]  # its own message
    task = task.for_model(model)
    encoder = task.encoder(model, options.max_tokens)
    progress.stage(f"Reading {split.name}")
    prepared, counts = task.prepare(split, encoder)
    if options.precision is not None:
        order = np.random.default_rng(options.seed).permutation(len(prepared))
        prepared = [prepared[i] for i in order]
    settings = options.model_dump(mode="json")
    settings["max_tokens"] = encoder.max_tokens
    record = task_record(
        model,
        task,
        split,
        prepared,
        counts,
        [MeasureRecord(name="ablation", parameters=settings)],
        settings,
        carried=None if roles_of is None else roles_of.record.request_digest,
        engine=executor.told(),
    )
    with RunWriter.open(output, record, resume=resume) as writer:
        if not writer.already_complete:
            edit: dict[str, Any] = {"renormalise": True} if options.renormalise else {}
            sizes = {"batch_tokens": options.batch_tokens, "wide_tokens": options.wide_tokens}
            job = SweepJob(model, task, options.how, {"options": edit, "fast": fast, **sizes})
            room = _Room(job, executor, writer, options, progress)
            tables: dict[str, Any] = {}
            gold = gold_numbers(prepared)
            if options.importance and kind in ("head", "accumulate", "pairs"):
                tables.update(_importance(model, task, prepared, progress))
            if kind == "accumulate":
                found = _accumulate(room, rest, ablations, prepared, tables)
            else:
                found = (ablations, *room.all_of(ablations, prepared))
            progress.stage("Resampling")
            shared = {"n_resamples": options.n_resamples, "seed": options.seed}
            ablations, baseline, values = found
            tables["ablation"] = effects(
                task, gold, baseline, values, ablations, options.how, **shared
            )
            if kind == "pairs":
                tables["interaction"] = interactions(
                    task, gold, baseline, values, ablations, options.how, **shared
                )
            for name in ("roles", "clusters"):
                if roles_of is not None and name in roles_of.tables:
                    table = roles_of.table(name)
                    tables[name] = dict(zip(table.column_names, table.columns, strict=True))
            seconds = {"ablate_seconds": time.monotonic() - started}
            notes = [] if room.fast or not fast else [_SLOW.format(model.name)]
            done = writer.record.updated(timings=seconds, notes=notes)
            writer.complete({"ablation": Result(tables)}, done)
    run = open_run(output)
    if not (run.path / "report.html").exists():
        run_analyses(run)
        progress.stage("Drawing the report")
        run.write_file("report.html", render_report(run))
    return run


_SLOW = "the layers of {} cannot be skipped: every ablation ran the whole model"


@dataclass
class _Room:
    """Sweeps whose shards are kept, numbered in the order in which they come."""

    job: SweepJob
    executor: Executor
    writer: RunWriter
    options: AblationOptions
    progress: Progress
    n_shards: int = 0
    fast: bool = True

    def all_of(
        self,
        ablations: Sequence[Ablation],
        prepared: Sequence[Prepared],
        standing: frozenset[HeadId] = frozenset(),
        title: str = "Switching heads off",
    ) -> tuple[Floats, Floats]:
        """The answers without and with every ablation; those decided early are NaN."""
        n, width = len(prepared), len(self.job.task.columns)
        baseline, values = np.full((n, width), np.nan), np.full((len(ablations), n, width), np.nan)
        active = np.ones(len(ablations), dtype=bool)
        done = self.writer.finished_shards()
        self.progress.stage(title, n * len(ablations))
        # with a target precision, what is found decides what is asked next: one shard at a time
        size, whole = self.options.shard_size, self.options.precision is None
        for start in range(0, n, n if whole else size):
            starts = range(0, n, size) if whole else (start,)
            parts = {self.n_shards + i: slice(at, at + size) for i, at in enumerate(starts)}
            self.n_shards += len(parts)
            chosen = np.flatnonzero(active)
            asked = [ablations[i] for i in chosen.tolist()]
            items = []
            for index, rows in parts.items():
                some = prepared[rows]
                if index in done:
                    arrays, _ = self.writer.load_shard(index)
                    baseline[rows], values[:, rows] = arrays["baseline"], arrays["values"]
                    self.progress.advance(len(some) * len(ablations), 0)
                else:
                    work = SweepPart(some, asked, standing)
                    items.append(Item(index, work, len(some) * len(asked)))
                    self.progress.advance(len(some) * (len(ablations) - len(asked)), 0)
            for index, (found, told) in self.executor.map(self.job, items, self.progress):
                rows = parts[index]
                self.fast &= told["fast"]
                baseline[rows] = found["baseline"]
                values[chosen[:, None], np.arange(n)[rows]] = found["values"]
                shard = {"baseline": baseline[rows], "values": values[:, rows]}
                self.writer.save_shard(index, shard, {})
            last = max(rows.stop for rows in parts.values())
            if self.options.precision is not None and last >= _BURN_IN:
                active &= ~self._decided(prepared[:last], baseline, values, active)
                if not active.any():
                    break
        return baseline, values

    def _decided(
        self,
        prepared: Sequence[Prepared],
        baseline: Floats,
        values: Floats,
        active: NDArray[np.bool_],
    ) -> NDArray[np.bool_]:
        """The ablations whose interval is narrow enough by now."""
        task, n = self.job.task, len(prepared)
        metric, gold = task.all_metrics()[0], gold_numbers(prepared)
        counts = next(resamples(n, _N_LOOK, self.options.seed))
        before = metric.resampled(task.named(baseline[:n]), gold, counts)
        found = np.zeros(len(values), dtype=bool)
        for i in np.flatnonzero(active):
            after = metric.resampled(task.named(values[i, :n]), gold, counts)
            low, high = percentile_interval(after - before)
            found[i] = (high - low) / 2 <= (self.options.precision or 0.0)
        return found


def _importance(
    model: LoadedModel, task: Task, prepared: Sequence[Prepared], progress: Progress
) -> dict[str, Any]:
    progress.stage("Importance by gradient", len(prepared))
    measure = HeadImportance()
    values = task_gradients(model, task, [measure], prepared, advance=progress.advance)
    total = Total(model.layout, {place: value for (_, place), value in values.items()})
    return dict(measure.finish(total).tables)


def _accumulate(
    room: _Room,
    order_by: str,
    ablations: Sequence[Ablation],
    prepared: Sequence[Prepared],
    tables: dict[str, Any],
) -> tuple[list[Ablation], Floats, Floats]:
    """More and more heads; the order comes from a random half, the curve from the other one."""
    task, model = room.job.task, room.job.model
    shuffled = np.random.default_rng(room.options.seed).permutation(len(prepared))
    halves = np.sort(shuffled[: len(prepared) // 2]), np.sort(shuffled[len(prepared) // 2 :])
    ordering, scoring = ([prepared[i] for i in half] for half in halves)
    if not ordering:
        raise UsageError("an accumulation needs at least two examples")
    n_steps = min(room.options.steps or len(ablations), len(ablations))
    heads = [next(iter(a.heads)) for a in ablations]
    if order_by == "importance":
        found = _importance(model, task, ordering, room.progress)["importance"]
        score = {
            HeadId(int(layer), int(head), stack): float(value)
            for stack, layer, head, value in zip(
                found["stack"], found["layer"], found["head"], found["score"], strict=True
            )
        }
        order = sorted(heads, key=lambda head: (score[head], head))
    elif order_by == "change":
        baseline, values = room.all_of(ablations, ordering, title="Ordering heads")
        harm = _harms(task, gold_numbers(ordering), baseline, values)
        order = [heads[i] for i in sorted(range(len(heads)), key=lambda i: (*harm[i], heads[i]))]
    else:
        order = []
        while len(order) < n_steps:
            left = [a for a in ablations if next(iter(a.heads)) not in order]
            title = f"Step {len(order) + 1} of {n_steps}"
            baseline, values = room.all_of(left, ordering, frozenset(order), title)
            harm = _harms(task, gold_numbers(ordering), baseline, values)
            best = min(range(len(left)), key=lambda i: (*harm[i], sorted(left[i].heads)))
            order.append(next(iter(left[best].heads)))
    steps = accumulated(order[:n_steps])
    baseline, values = room.all_of(steps, scoring, title="The pruning curve")
    whole = np.full((len(prepared), baseline.shape[1]), np.nan)
    many = np.full((len(steps), len(prepared), baseline.shape[1]), np.nan)
    whole[halves[1]], many[:, halves[1]] = baseline, values
    return steps, whole, many


def _harms(task: Task, gold: Floats, baseline: Floats, values: Floats) -> list[tuple[float, float]]:
    """What is lost of the first metric, and in doubt of the loss, with every ablation."""
    metrics = task.all_metrics()
    first, loss = metrics[0], metrics[-1]
    named = task.named(baseline)
    found = []
    for one in values:
        lost = first.score(task.named(one), gold) - first.score(named, gold)
        more = loss.score(task.named(one), gold) - loss.score(named, gold)
        found.append((-lost if first.higher_is_better else lost, more))
    return found
