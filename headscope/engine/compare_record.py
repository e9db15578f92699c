"""What a comparison of two models was asked, for its run.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from headscope.corpora import Corpus
from headscope.engine.plan import Plan
from headscope.measures import Measure
from headscope.models import LoadedModel
from headscope.store import (
    CorpusRecord,
    MeasureRecord,
    ModelRecord,
    Request,
    RunRecord,
    StackRecord,
)


def comparison_record(
    before: LoadedModel,
    after: LoadedModel,
    corpus: Corpus,
    plan: Plan,
    measures: Sequence[Measure],
    settings: Mapping[str, Any],
    seed: int,
    engine: Mapping[str, Any],
) -> RunRecord:
    """The record of a pass with two models; both fingerprints identify it."""
    summary = corpus.scan()
    return RunRecord(
        request=Request(
            model={"before": before.name, "after": after.name},
            corpus=summary.model_dump(
                mode="json", include={"options", "limit", "sample", "annotator"}
            ),
            measures=tuple(MeasureRecord(**measure.spec()) for measure in measures),
            settings=dict(settings),
            seeds={"sample": summary.seed, "random_twin": seed},
            engine=dict(engine),
        ),
        model=ModelRecord(
            name=f"{after.name} against {before.name}",
            family=before.family,
            fingerprint=f"{before.fingerprint()} {after.fingerprint()}",
            stacks=tuple(
                StackRecord(stack=s.stack, n_layers=s.n_layers, n_heads=max(s.n_heads))
                for s in before.layout.stacks
            ),
            dtype=before.dtype,
            n_parameters=before.n_parameters,
        ),
        corpus=CorpusRecord(
            name=", ".join(Path(file.name).name for file in summary.files),
            fingerprint=summary.fingerprint,
            n_sequences=summary.n_sequences,
            files=tuple(file.name for file in summary.files),
            annotations=summary.annotations,
        ),
        counts=plan.counts,
    )
