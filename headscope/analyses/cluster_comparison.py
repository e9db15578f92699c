"""Clusters of several runs side by side: before and after fine-tuning, or model beside model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from headscope.analyses.cluster_tables import Settings, cluster_rows
from headscope.analyses.clusters import Clustering, cluster
from headscope.analyses.head_features import HeadFeatures, joined, read_features
from headscope.errors import UsageError
from headscope.store import CorpusRecord, ModelRecord, Request, Run, RunRecord, RunWriter, open_run
from headscope.types import Result

Found = list[tuple[HeadFeatures, Clustering]]


def cluster_several(runs: Sequence[Run], settings: Settings, *, together: bool) -> Found:
    """Several runs' heads in clusters that correspond; see `cluster_data`."""
    return cluster_data([read_features(run) for run in runs], settings, together=together)


def cluster_data(data: Sequence[HeadFeatures], settings: Settings, *, together: bool) -> Found:
    """Several models' heads in one fit, or each model in its own with numbers that correspond.

    Apart, the clusters of every further run take the numbers of the nearest centres of the first
    (Hungarian method), so that one colour means one kind everywhere.
    """
    options: dict[str, Any] = {"k": settings.k, "method": settings.method, "seed": settings.seed}
    if not together:
        first, *rest = [cluster(one, **options) for one in data]
        aligned = [
            first,
            *(_aligned(first, data[0], other, data[i + 1]) for i, other in enumerate(rest)),
        ]
        return list(zip(data, aligned, strict=True))
    whole = joined(data)
    fit = cluster(whole, **options)
    found, start = [], 0
    for one in data:
        own = slice(start, start + len(one.heads))
        start += len(one.heads)
        stable = None if fit.stable is None else fit.stable[own]
        part = replace(fit, labels=fit.labels[own], silhouette=fit.silhouette[own], stable=stable)
        found.append((one, part))
    return found


def _aligned(
    first: Clustering, first_data: HeadFeatures, other: Clustering, other_data: HeadFeatures
) -> Clustering:
    from scipy.optimize import linear_sum_assignment

    if len(first.centres) != len(other.centres):
        raise UsageError("the runs fall into different numbers of clusters; try --method kmeans")
    shared = [f for f in first_data.features if f in other_data.features]
    mine = first.centres[:, [first_data.features.index(f) for f in shared]]
    theirs = other.centres[:, [other_data.features.index(f) for f in shared]]
    distance = np.linalg.norm(theirs[:, None] - mine[None], axis=-1)
    old, new = linear_sum_assignment(distance)
    centres = np.empty_like(other.centres)
    centres[new] = other.centres[old]
    names: list[str | None] = [None] * len(new)
    for before, after in zip(old, new, strict=True):
        names[after] = other.names[before]
    return replace(
        other, labels=new[other.labels].astype(np.int64), centres=centres, names=tuple(names)
    )


def compared_rows(labels: Sequence[str], found: Found) -> dict[str, list[Any]]:
    """Clusters of several runs as one table, with a column that says whose heads they are."""
    columns: dict[str, list[Any]] = {"run": []}
    for label, (data, clustering) in zip(labels, found, strict=True):
        rows = cluster_rows(data.heads, clustering)
        columns["run"] += [label] * len(data.heads)
        for name, values in rows.items():
            columns.setdefault(name, []).extend(values)
    return columns


def run_labels(runs: Sequence[Run]) -> list[str]:
    """What to call each run: its model, with its folder where two models have one name."""
    names = [run.record.model.name for run in runs]
    return [
        name if names.count(name) == 1 else f"{name} ({run.path.name})"
        for name, run in zip(names, runs, strict=True)
    ]


def write_comparison(
    path: Path, runs: Sequence[Run], found: Found, settings: Settings, *, together: bool
) -> Run:
    """A run of its own with the table `clusters_compared`."""
    labels = run_labels(runs)
    corpora = list(dict.fromkeys(run.record.corpus.name for run in runs))
    record = RunRecord(
        model=ModelRecord(
            name=" · ".join(labels),
            fingerprint=" ".join(run.record.model.fingerprint for run in runs),
            stacks=runs[0].record.model.stacks,
        ),
        corpus=CorpusRecord(
            name=", ".join(corpora),
            fingerprint=" ".join(run.record.corpus.fingerprint for run in runs),
            n_sequences=runs[0].record.corpus.n_sequences,
        ),
        request=Request(
            settings={"clusters": {**asdict(settings), "together": together}},
            corpus={"runs": [run.record.request_digest for run in runs]},
        ),
        counts=dict(runs[0].record.counts),
        notes=(
            "clustered together: one fit for all heads"
            if together
            else "clustered apart: one fit per run, numbers matched to the first run's centres",
        ),
    )
    with RunWriter.open(path, record) as writer:
        table = compared_rows(labels, found)
        writer.complete({"clusters": Result({"clusters_compared": table})}, record)
    return open_run(path)
