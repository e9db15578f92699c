"""Two models over one corpus in one pass: what changed, head by head."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from headscope.corpora import Corpus, Encoder
from headscope.engine.analyze import choose_measures
from headscope.engine.batches import length_sorted
from headscope.engine.checkpoint import packed, sum_values
from headscope.engine.compare_record import comparison_record
from headscope.engine.compare_tables import compared_clusters, compared_tables, similarity_table
from headscope.engine.executor import Advance, Executor, Packed
from headscope.engine.executors.local import LocalExecutor
from headscope.engine.left_out import checked, without_broken
from headscope.engine.lockstep import in_lockstep
from headscope.engine.plan import Plan, applicable, encoder_for, make_plan
from headscope.engine.progress import Progress, Silent
from headscope.engine.settings import Settings
from headscope.engine.shard import Values, add, in_halves, leaving_out
from headscope.engine.shard_job import run_shards
from headscope.errors import UsageError
from headscope.figures import render_report
from headscope.measures import MEASURES, LayerMeasure, Place, Total
from headscope.measures.map_similarity import map_cosine
from headscope.measures.per_sequence import moments_of
from headscope.models import LoadedModel, View
from headscope.models.random_twin import random_twin
from headscope.store import Run, RunWriter, open_run
from headscope.types import Encoded, Facts, Result
from headscope.types import Sequence as Text

#: What is measured in both models beside the similarity of their maps, if it is known here.
SIDE_BY_SIDE = ("features", "distance", "patterns")


def compare_models(
    before: LoadedModel,
    after: LoadedModel,
    corpus: Corpus,
    output: Path,
    *,
    settings: Settings | None = None,
    twin: bool = True,
    seed: int = 0,
    max_tokens: int | None = None,
    long: Literal["cut", "skip"] = "cut",
    dropped: Literal["refuse", "skip"] = "refuse",
    resume: bool = False,
    progress: Progress | None = None,
    executor: Executor | None = None,
) -> Run:
    """Compare two models of one shape and tokenizer over a corpus and write a run.

    `similarity` is the cosine of the same head's maps in both; with `twin` also
    `similarity_random`, that of `before` and a model of its shape with random weights. Features and
    distance clusters of both stand in tables that end in `_compared`.
    """
    settings, progress = settings or Settings(), progress or Silent()
    executor = executor or LocalExecutor()
    started = time.monotonic()
    check_layouts(before, after)
    encoders = [
        encoder_for(model, max_tokens=max_tokens, long=long, dropped=dropped)
        for model in (before, after)
    ]
    limit = min(encoder.max_tokens for encoder in encoders)
    encoders = [
        encoder_for(model, max_tokens=limit, long=long, dropped=dropped)
        for model in (before, after)
    ]
    plan, other = (make_plan(corpus, encoder, settings, progress, executor) for encoder in encoders)
    check_tokens(before, after, plan, other)
    known = [name for name in SIDE_BY_SIDE if name in MEASURES]
    chosen, _ = applicable(choose_measures(known), corpus.scan().annotations, before)
    measures = [m for m in chosen if isinstance(m, LayerMeasure)]
    models = [before, after, *([random_twin(before, seed, keep_embeddings=False)] if twin else [])]
    options = {
        **settings.told(),
        "max_tokens": limit,
        "long": long,
        "dropped": dropped,
        "random_twin": twin,
    }
    record = comparison_record(
        before, after, corpus, plan, measures, options, seed, executor.told()
    )
    with RunWriter.open(output, record, resume=resume) as writer:
        if not writer.already_complete:
            job = CompareJob(models, measures, encoders[0], settings, plan.facts)
            run_shards(executor, job, corpus, plan, writer, progress, title="Comparing heads")
            values = sum_values(writer, len(plan.shards))
            seconds = {"pass_seconds": time.monotonic() - started}
            done = without_broken(writer.record.updated(timings=seconds), values)
            writer.complete(_finish(values, before, after, measures), done)
    run = open_run(output)
    if not (run.path / "report.html").exists():
        progress.stage("Drawing the report")
        run.write_file("report.html", render_report(run))
    return run


def check_layouts(before: LoadedModel, after: LoadedModel) -> None:
    """Heads can only be compared one by one if there are the same of them."""
    if before.layout != after.layout:
        raise UsageError(
            f"{before.name} has {before.layout} layers × heads, {after.name} has {after.layout}; "
            "expected two models of one shape"
        )


def check_tokens(before: LoadedModel, after: LoadedModel, plan: Plan, other: Plan) -> None:
    """Maps can only be compared if both models read the same tokens."""
    if plan.tokens_digest != other.tokens_digest:
        raise UsageError(
            f"{before.name} and {after.name} cut the same texts into different tokens "
            f"({plan.n_tokens:,} and {other.n_tokens:,}); expected one tokenizer"
        )


@dataclass(frozen=True, eq=False)
class CompareJob:
    """Texts in, similarities and the measures of both models out."""

    models: Sequence[LoadedModel]
    measures: Sequence[LayerMeasure]
    encoder: Encoder
    settings: Settings
    facts: Facts

    def run(self, work: Sequence[Text], advance: Advance) -> Packed:
        kept = [one for one in self.encoder.encode_many(work) if isinstance(one, Encoded)]
        total: Values = {}
        for batch in length_sorted(kept, self.settings.batch_tokens):
            found = in_halves(
                lambda part: observe_together(self.models, self.measures, part, self.facts), batch
            )
            add(total, found)
            advance(sum(e.n_tokens for e in batch), len(batch))
        return packed(total)


def observe_together(
    models: Sequence[LoadedModel],
    measures: Sequence[LayerMeasure],
    encoded: Sequence[Encoded],
    facts: Facts | None = None,
) -> Values:
    """The values of one batch: similarities, and every measure's of the first two models.

    A sequence to which any of the models has broken rows is left out of it all, and counted.
    """
    return leaving_out(lambda part: _observe(models, measures, part, facts or Facts()), encoded)


def _observe(
    models: Sequence[LoadedModel],
    measures: Sequence[LayerMeasure],
    encoded: Sequence[Encoded],
    facts: Facts,
) -> Values:
    values: Values = {}

    def observe(views: list[View]) -> None:
        views = [checked(view) for view in views]
        first, *others = views
        place = Place(first.stack, first.layer)
        real = first.queries.real, first.keys.real
        for name, other in zip(("similarity", "similarity_random"), others, strict=False):
            values[name, place] = moments_of(map_cosine(first.pattern, other.pattern, *real))
        for side, view in zip(("before", "after"), views, strict=False):
            for measure in measures:
                if measure.applies_to(models[0].layout[view.stack]):
                    values[f"{measure.name}@{side}", place] = measure.observe(view)

    in_lockstep(models, encoded, facts, observe)
    return values


def _finish(
    values: Values, before: LoadedModel, after: LoadedModel, measures: Sequence[LayerMeasure]
) -> dict[str, Result]:
    def total(name: str) -> Total:
        return Total(before.layout, {p: v for (key, p), v in values.items() if key == name})

    tables: dict[str, Any] = {}
    for name in ("similarity", "similarity_random"):
        if any(key == name for key, _ in values):
            tables[name] = similarity_table(total(name))
    names = (before.name, after.name)
    if names[0] == names[1]:
        names = (f"{names[0]} (before)", f"{names[1]} (after)")
    for measure in measures:
        sides = [measure.finish(total(f"{measure.name}@{side}")) for side in ("before", "after")]
        tables.update(compared_tables(names, sides))
        if measure.name == "distance" and all(np.size(s.tables["distance"]["mean"]) for s in sides):
            tables.update(compared_clusters(names, sides))
    return {"compare": Result(tables)}
