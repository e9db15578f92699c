"""The distance features of a run's heads as one matrix, and of random halves of its corpus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from headscope.errors import RunError, UsageError
from headscope.store import Run
from headscope.types import HeadId, Stack

Matrix = NDArray[np.float64]

#: The order of the last axis of the array `distance_parts`.
ALL_FEATURES = ("cls", "sep", "comma", "period", "self", *(f"w{i:02}" for i in range(16)))


@dataclass(frozen=True, eq=False)
class HeadFeatures:
    """`matrix[head, feature]` over the whole corpus; `parts[part, head, feature]` are sums.

    `sizes[part, head]` counts the sequences of a part that a head has seen; parts are disjoint and
    random. Heads of several runs may stand one after the other.
    """

    heads: tuple[HeadId, ...]
    features: tuple[str, ...]
    matrix: Matrix
    parts: Matrix
    sizes: Matrix

    def half(self, seed: Sequence[int]) -> Matrix | None:
        """The features over a random half of the parts; None if there are not two to choose of."""
        filled = np.flatnonzero(self.sizes.any(axis=1))
        if len(filled) < 2:
            return None
        chosen = np.random.default_rng(seed).choice(filled, len(filled) // 2, replace=False)
        chosen.sort()
        size = self.sizes[chosen].sum(axis=0)
        if not size.all():  # a head of some run has seen nothing of this half
            return None
        mean: Matrix = self.parts[chosen].sum(axis=0) / size[:, None]
        return mean


def read_features(run: Run) -> HeadFeatures:
    """The table `distance` and its parts; RunError if the pass did not keep them."""
    if "distance" not in run.tables or not run.table("distance").num_rows:
        raise RunError(
            f"{run.path} has no distance features; run headscope analyze with the measure distance"
        )
    table = run.table("distance")
    columns = {name: table.column(name).to_pylist() for name in table.column_names}
    return features_of(columns, run.array("distance_parts"), run.array("distance_part_sizes"))


def features_of(table: Mapping[str, Any], parts: Matrix, sizes: Matrix) -> HeadFeatures:
    """The same from the columns of the table `distance` and its two arrays."""
    rows = [
        HeadId(int(layer), int(head), cast("Stack", str(stack)))
        for layer, head, stack in zip(table["layer"], table["head"], table["stack"], strict=True)
    ]
    heads = tuple(dict.fromkeys(rows))
    names = [str(name) for name in table["feature"]]
    features = tuple(dict.fromkeys(names))
    at_head = {head: i for i, head in enumerate(heads)}
    at_feature = {name: i for i, name in enumerate(features)}
    # A stack may lack a kind of token that another has; it gives no weight to what is not there.
    matrix = np.zeros((len(heads), len(features)))
    where = [at_head[head] for head in rows], [at_feature[name] for name in names]
    matrix[where] = np.asarray(table["mean"], np.float64)
    kept = [ALL_FEATURES.index(name) for name in features]
    seen = np.repeat(sizes[:, None], len(heads), axis=1)
    return HeadFeatures(heads, features, matrix, parts[:, :, kept], seen)


def joined(several: Sequence[HeadFeatures]) -> HeadFeatures:
    """The heads of several runs as one set; a feature that a run lacks is 0 there."""
    features = tuple(f for f in ALL_FEATURES if any(f in one.features for one in several))
    n_parts = {len(one.parts) for one in several}
    if len(n_parts) > 1:
        counts = ", ".join(map(str, sorted(n_parts)))
        raise UsageError(f"the runs keep different numbers of parts ({counts}); run them alike")
    matrices, parts = [], []
    for one in several:
        at = [features.index(f) for f in one.features]
        matrix = np.zeros((len(one.heads), len(features)))
        sums = np.zeros((len(one.parts), len(one.heads), len(features)))
        matrix[:, at], sums[:, :, at] = one.matrix, one.parts
        matrices.append(matrix)
        parts.append(sums)
    return HeadFeatures(
        tuple(head for one in several for head in one.heads),
        features,
        np.concatenate(matrices),
        np.concatenate(parts, axis=1),
        np.concatenate([one.sizes for one in several], axis=1),
    )
