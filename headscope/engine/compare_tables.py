"""The tables of a comparison of two models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.cluster_comparison import cluster_data, compared_rows
from headscope.analyses.cluster_tables import K, Settings
from headscope.analyses.head_features import features_of
from headscope.measures import Total
from headscope.stats import mean_interval
from headscope.types import Result
from headscope.values import Moments


def similarity_table(total: Total) -> dict[str, NDArray[Any]]:
    """Mean cosine per head with its 95 % interval over sequences."""
    names = ("stack", "layer", "head", "cosine", "ci_low", "ci_high", "n")
    columns: dict[str, list[NDArray[Any]]] = {name: [] for name in names}
    for place, moments in total.of(Moments):
        heads = np.arange(len(moments.n))
        low, high = mean_interval(moments.mean, moments.std, moments.n)
        rows = (
            np.full(heads.shape, place.stack),
            np.full(heads.shape, place.layer),
            heads,
            moments.mean,
            low,
            high,
            moments.n,
        )
        for name, row in zip(names, rows, strict=True):
            columns[name].append(row)
    return {name: np.concatenate(rows) for name, rows in columns.items()}


def compared_tables(names: Sequence[str], sides: Sequence[Result]) -> dict[str, dict[str, Any]]:
    """A measure's tables of both models in one, with a column that says whose row it is."""
    merged: dict[str, dict[str, Any]] = {}
    for table in sides[0].tables:
        own: list[Mapping[str, Any]] = [side.tables[table] for side in sides]
        if not all(len(one["layer"]) for one in own if "layer" in one):
            continue
        columns = {c: np.concatenate([np.asarray(one[c]) for one in own]) for c in own[0]}
        lengths = [len(next(iter(one.values()))) for one in own]
        merged[f"{table}_compared"] = {"model": np.repeat(np.array(names), lengths), **columns}
    return merged


def compared_clusters(names: Sequence[str], sides: Sequence[Result]) -> dict[str, dict[str, Any]]:
    """Both models' heads in one fit, where there are enough unlike heads for it."""
    data = [
        features_of(
            side.tables["distance"],
            np.asarray(side.arrays["distance_parts"], np.float64),
            np.asarray(side.arrays["distance_part_sizes"], np.float64),
        )
        for side in sides
    ]
    together = np.concatenate([one.matrix for one in data])
    if len(np.unique(together.round(12), axis=0)) <= K:
        return {}
    found = cluster_data(data, Settings(), together=True)
    return {"clusters_compared": compared_rows(names, found)}
