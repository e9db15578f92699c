"""Clusters of heads as tables of a run, after every pass and on request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headscope.analyses.clusters import Clustering, Method, choices, cluster, projections
from headscope.analyses.head_features import HeadFeatures, read_features
from headscope.analyses.registered import analysis
from headscope.store import Run
from headscope.types import HeadId

#: The number of clusters in Guan et al. 2020.
K = 4


@dataclass(frozen=True)
class Settings:
    """How to cluster; `stability` refits every number of clusters, not only the chosen one."""

    k: int = K
    method: Method = "kmeans"
    seed: int = 0
    stability: bool = False


@analysis("clusters", tables=("distance",), order=30)
def clusters(run: Run) -> None:
    """Four clusters, where there are enough unlike heads for them."""
    data = read_features(run)
    if len(np.unique(data.matrix.round(12), axis=0)) > K:
        write_clusters(run, Settings())


def write_clusters(run: Run, settings: Settings) -> Clustering:
    """Cluster a run's heads and add `clusters`, `cluster_map` and `cluster_choice` to it."""
    data = read_features(run)
    found = cluster(data, k=settings.k, method=settings.method, seed=settings.seed)
    others = choices(data, method=settings.method, seed=settings.seed, refit=settings.stability)
    run.add_table("clusters", cluster_rows(data.heads, found))
    run.add_table("cluster_map", _map_rows(data, settings.seed))
    run.add_table("cluster_choice", _choice_rows(found, others, len(data.heads)))
    return found


def cluster_rows(heads: Sequence[HeadId], found: Clustering) -> dict[str, list[Any]]:
    """The rows of the table `clusters`; `stable` is false where nothing could be refitted."""
    stable = np.zeros(len(heads), bool) if found.stable is None else found.stable
    return {
        **_heads(heads),
        "cluster": found.labels.tolist(),
        "name": [found.names[label] for label in found.labels],
        "stable": stable.tolist(),
        "silhouette": found.silhouette.tolist(),
    }


def _heads(heads: Sequence[HeadId]) -> dict[str, list[Any]]:
    return {name: [getattr(head, name) for head in heads] for name in ("stack", "layer", "head")}


def _map_rows(data: HeadFeatures, seed: int) -> dict[str, list[Any]]:
    found = projections(data.matrix, seed)
    n = len(data.heads)
    return {
        **{name: rows * len(found) for name, rows in _heads(data.heads).items()},
        "projection": [name for name in found for _ in range(n)],
        "x": [float(x) for points, _ in found.values() for x in points[:, 0]],
        "y": [float(y) for points, _ in found.values() for y in points[:, 1]],
        "kept_variance": [kept for _, kept in found.values() for _ in range(n)],
    }


def _choice_rows(
    found: Clustering, others: Sequence[Clustering], n_heads: int
) -> dict[str, list[Any]]:
    rows = {one.k: one for one in others} | {found.k: found}
    ordered = [rows[k] for k in sorted(rows)]
    return {
        "k": [one.k for one in ordered],
        "method": [one.method for one in ordered],
        "silhouette": [float(np.mean(one.silhouette)) for one in ordered],
        "stability": [one.stability for one in ordered],
        "chosen": [one.k == found.k for one in ordered],
        "n": [n_heads] * len(ordered),
    }
