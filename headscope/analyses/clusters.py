"""Kinds of heads, found by clustering how far they look."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.cluster_names import named, special_mass
from headscope.analyses.head_features import HeadFeatures, Matrix
from headscope.errors import UsageError

Labels: TypeAlias = NDArray[np.int64]
Method: TypeAlias = Literal["kmeans", "gmm"]
METHODS: tuple[Method, ...] = ("kmeans", "gmm")
N_INIT = 10
#: Random halves of the corpus that a stable head must survive.
N_HALVES = 10


@dataclass(frozen=True, eq=False)
class Clustering:
    """Heads in `k` clusters, numbered by how much their centre looks at special tokens.

    `stable[head]` says whether the head kept its label in every refit, None if none was possible;
    `silhouette[head]` lies in [-1, 1], and near 0 between two clusters.
    """

    method: Method
    k: int
    labels: Labels
    centres: Matrix
    names: tuple[str | None, ...]
    silhouette: Matrix
    stable: NDArray[np.bool_] | None = None

    @property
    def stability(self) -> float:
        """The share of stable heads; NaN where nothing could be refitted."""
        return float("nan") if self.stable is None else float(self.stable.mean())


def cluster(
    data: HeadFeatures,
    *,
    k: int = 4,
    method: Method = "kmeans",
    seed: int = 0,
    refit: bool = True,
) -> Clustering:
    """Cluster heads by their distance features.

    K-means (scikit-learn, n_init 10) on the features as they are, all shares of one whole, so
    nothing is rescaled; or a Gaussian mixture with diagonal covariances. With `refit` the fit is
    redone `N_HALVES` times on random halves of the corpus, predicts the features of the whole, and
    its labels are matched to ours by the Hungarian method: a head is stable if all of them agree
    with its label here.

    Source: Guan et al. 2020, §4 and Table 1. Departures: they call a head stable if the refits
    agree among themselves, here they must agree with the label that is reported as well; they say
    "Gaussian mixture" and no more; halves are drawn from the random parts that the pass kept (64 by
    default), not sequence by sequence.

    >>> from headscope.types import HeadId
    >>> x = np.array([[0.9, 0.1], [0.8, 0.2], [0.1, 0.9], [0.2, 0.8]])
    >>> heads = tuple(HeadId(0, i) for i in range(4))
    >>> data = HeadFeatures(heads, ("sep", "w00"), x, np.stack([x, x]), np.ones((2, 4)))
    >>> found = cluster(data, k=2)
    >>> found.labels.tolist(), found.stability
    ([1, 1, 0, 0], 1.0)
    """
    check(data, k, method)
    model = _fitted(data.matrix, k, method, seed)
    raw: Labels = np.asarray(model.predict(data.matrix), np.int64)
    # Fewer than k labels if two components of a mixture share their heads.
    used = np.unique(raw)
    centres = np.stack([data.matrix[raw == label].mean(axis=0) for label in used])
    order = np.argsort(special_mass(centres, data.features), kind="stable")
    place = np.full(k, -1, np.int64)
    place[used[order]] = np.arange(len(used))
    labels, centres = place[raw], centres[order]
    return Clustering(
        method=method,
        k=k,
        labels=labels,
        centres=centres,
        names=named(centres, data.matrix, labels, data.features),
        silhouette=silhouettes(data.matrix, labels),
        stable=refitted(data, labels, k, method, seed) if refit else None,
    )


def check(data: HeadFeatures, k: int, method: str) -> None:
    """Refuse what cannot be clustered."""
    if method not in METHODS:
        raise UsageError(f"unknown method {method!r}; expected {' or '.join(METHODS)}")
    n_distinct = len(np.unique(data.matrix.round(12), axis=0))
    if not 2 <= k < n_distinct:
        raise UsageError(f"k is {k}; expected 2 to {n_distinct - 1}, for {n_distinct} unlike heads")


def silhouettes(matrix: Matrix, labels: Labels) -> Matrix:
    """Per head (b − a)/max(a, b): mean distance to the own cluster and to the nearest other."""
    if len(np.unique(labels)) < 2:
        return np.full(len(labels), np.nan)
    from sklearn.metrics import silhouette_samples

    found: Matrix = silhouette_samples(matrix, labels)
    return found


def refitted(
    data: HeadFeatures, labels: Labels, k: int, method: Method, seed: int
) -> NDArray[np.bool_] | None:
    """Which heads keep their label in every fit on a random half of the corpus."""
    stable = np.ones(len(labels), bool)
    for turn in range(N_HALVES):
        half = data.half((seed, turn))
        if half is None or len(np.unique(half.round(12), axis=0)) <= k:
            return None
        predicted = np.asarray(_fitted(half, k, method, seed).predict(data.matrix), np.int64)
        stable &= matched(predicted, labels, k) == labels
    return stable


def matched(labels: Labels, reference: Labels, k: int) -> Labels:
    """Labels renamed so that as many as possible agree with the reference (Hungarian method).

    >>> matched(np.array([2, 2, 0, 1]), np.array([0, 0, 1, 1]), 3).tolist()
    [0, 0, 1, 2]
    """
    from scipy.optimize import linear_sum_assignment

    together = np.zeros((k, k))
    np.add.at(together, (labels, reference), 1)
    _, target = linear_sum_assignment(together, maximize=True)
    renamed: Labels = np.asarray(target, np.int64)[labels]
    return renamed


def _fitted(matrix: Matrix, k: int, method: Method, seed: int) -> Any:
    from sklearn.cluster import KMeans
    from sklearn.mixture import GaussianMixture

    if method == "kmeans":
        return KMeans(k, n_init=N_INIT, random_state=seed).fit(matrix)
    mixture = GaussianMixture(
        k, covariance_type="diag", n_init=N_INIT, reg_covar=1e-5, random_state=seed, max_iter=500
    )
    with warnings.catch_warnings():
        # One of ten starts that did not settle is no news: the best one is taken.
        warnings.simplefilter("ignore")
        return mixture.fit(matrix)


def choices(
    data: HeadFeatures,
    *,
    ks: Sequence[int] = range(2, 9),
    method: Method = "kmeans",
    seed: int = 0,
    refit: bool = False,
) -> list[Clustering]:
    """The same with other numbers of clusters, as far as there are heads for them."""
    most = len(np.unique(data.matrix.round(12), axis=0)) - 1
    return [cluster(data, k=k, method=method, seed=seed, refit=refit) for k in ks if k <= most]


def projections(matrix: Matrix, seed: int = 0) -> dict[str, tuple[Matrix, float]]:
    """Heads in two dimensions, by t-SNE and by PCA with the share of variance PCA keeps."""
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE

    pca = PCA(2, random_state=seed)
    flat = pca.fit_transform(matrix)
    near = TSNE(
        2, perplexity=min(30.0, (len(matrix) - 1) / 3), init="pca", random_state=seed
    ).fit_transform(matrix)
    kept = float(pca.explained_variance_ratio_.sum())
    return {"tsne": (near.astype(np.float64), float("nan")), "pca": (flat, kept)}
