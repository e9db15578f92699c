"""Distances between heads as a map, and layer by layer."""

from __future__ import annotations

import inspect
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

#: Random regroupings behind a p-value, and starts of the map.
N_REGROUPINGS: Final = 1999
N_STARTS: Final = 5


def map_of_heads(distance: NDArray[np.float64], seed: int = 0) -> NDArray[np.float64]:
    """Points [head, 2] whose distances are as near to `distance` as a plane allows.

    Metric multidimensional scaling (SMACOF), the best of five random starts. A map has no up and
    no left: it is centred, turned so that its longest extent lies along x, and mirrored so that the
    heavier tail points to the right and up. NaN where a distance is unknown.

    >>> points = map_of_heads(np.array([[0.0, 3.0, 4.0], [3.0, 0.0, 5.0], [4.0, 5.0, 0.0]]))
    >>> round(float(np.linalg.norm(points[1] - points[2])), 2)
    5.0
    """
    if len(distance) < 3 or not np.isfinite(distance).all():
        known = len(distance) and np.isfinite(distance).all()
        return np.zeros((len(distance), 2)) if known else np.full((len(distance), 2), np.nan)
    # scikit-learn is heavy: reading a run must not load it
    from sklearn.manifold import MDS

    options: dict[str, Any] = {"n_components": 2, "n_init": N_STARTS, "random_state": seed}
    if "metric_mds" in inspect.signature(MDS).parameters:  # scikit-learn 1.8 renamed them
        options |= {"metric_mds": True, "metric": "precomputed", "init": "random"}
    else:
        options |= {"metric": True, "dissimilarity": "precomputed"}
    points = np.asarray(MDS(**options).fit_transform(distance))
    points = points - points.mean(axis=0)
    _, _, axes = np.linalg.svd(points, full_matrices=False)
    points = points @ axes.T
    sign: NDArray[np.float64] = np.where((points**3).sum(axis=0) < 0, -1.0, 1.0)
    oriented: NDArray[np.float64] = points * sign
    return oriented


def layer_distances(
    distance: NDArray[np.float64], layer: NDArray[np.int64], seed: int = 0
) -> list[dict[str, Any]]:
    """Per layer: the mean distance within it, to all other heads, and a permutation p-value.

    p = (1 + regroupings in which as many heads are no farther apart) / (1 + regroupings): small
    where a layer's heads are closer to each other than heads picked anywhere. NaN where a layer
    has one head, or where there is one layer.

    >>> far = np.array([[0, 1, 9, 9], [1, 0, 9, 9], [9, 9, 0, 2], [9, 9, 2, 0]], float)
    >>> [(r["within_nats"], r["across_nats"]) for r in layer_distances(far, np.array([0, 0, 1, 1]))]
    [(1.0, 9.0), (2.0, 9.0)]
    """
    generator = np.random.default_rng(seed)
    n_heads = len(distance)
    orders = generator.permuted(np.tile(np.arange(n_heads), (N_REGROUPINGS, 1)), axis=1)
    found = []
    for number in np.unique(layer).tolist():
        mine = layer == number
        size = int(mine.sum())
        within, across, p_value = np.nan, np.nan, np.nan
        if size > 1:
            within = float(distance[np.ix_(mine, mine)].sum() / (size * (size - 1)))
        if size < n_heads:
            across = float(distance[np.ix_(mine, ~mine)].mean())
        if 1 < size < n_heads and np.isfinite(within):
            group = orders[:, :size]
            means = distance[group[:, :, None], group[:, None, :]].sum(axis=(1, 2))
            means /= size * (size - 1)
            # a regrouping that is the layer itself counts, whatever rounding says
            nearer = int((means <= within * (1 + 1e-9)).sum())
            p_value = (1 + nearer) / (1 + N_REGROUPINGS)
        found.append(
            {
                "layer": number,
                "within_nats": within,
                "across_nats": across,
                "p_value": p_value,
                "n": size,
            }
        )
    return found
