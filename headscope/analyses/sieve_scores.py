"""The scores of a run's heads for its roles, as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from headscope.errors import RunError
from headscope.store import Run
from headscope.types import HeadId


@dataclass(frozen=True, eq=False)
class RoleMeans:
    """Mean, standard deviation and count of the scores, a row per head and role."""

    heads: tuple[HeadId, ...]
    roles: tuple[str, ...]
    mean: NDArray[np.float64]
    std: NDArray[np.float64]
    n: NDArray[np.int64]

    @property
    def mean_score(self) -> float:
        """The mean of all scores of all heads and roles."""
        known = self.n > 0
        if not known.any():
            return float("nan")
        return float(np.average(self.mean[known], weights=self.n[known]))


@dataclass(frozen=True, eq=False)
class KeptScores:
    """`values[sequence, head, role]` of the sequences whose scores were kept; NaN is no data."""

    sequences: tuple[str, ...]
    heads: tuple[HeadId, ...]
    roles: tuple[str, ...]
    values: NDArray[np.float32]


def role_means(run: Run) -> RoleMeans:
    """The run's table `sieve`."""
    if "sieve" not in run.tables:
        raise RunError(
            f"{run.path} has no scores of roles; expected a run with the measure 'sieve' "
            "(headscope analyze … --measures sieve)"
        )
    table = run.table("sieve")
    return RoleMeans(
        heads_of(table),
        tuple(table["role"].to_pylist()),
        table["mean"].to_numpy(),
        table["std"].to_numpy(),
        table["n"].to_numpy(),
    )


def heads_of(table: pa.Table) -> tuple[HeadId, ...]:
    """The head of every row."""
    columns = (table[name].to_pylist() for name in ("layer", "head", "stack"))
    return tuple(HeadId(*row) for row in zip(*columns, strict=True))


def kept_scores(run: Run) -> KeptScores | None:
    """The run's table `sieve_scores`; None where no scores were kept."""
    if "sieve_scores" not in run.tables:
        return None
    table = run.table("sieve_scores")
    if not table.num_rows:
        return None
    sequence, sequences = _coded(table["sequence"])
    role, roles = _coded(table["role"])
    stack, stacks = _coded(table["stack"])
    layer, head = table["layer"].to_numpy(), table["head"].to_numpy()
    n_layers, n_heads = int(layer.max()) + 1, int(head.max()) + 1
    place = (stack * n_layers + layer) * n_heads + head
    places, column = np.unique(place, return_inverse=True)
    values = np.full((len(sequences), len(places), len(roles)), np.nan, dtype=np.float32)
    values[sequence, column, role] = table["score"].to_numpy()
    heads = tuple(
        HeadId(int(p // n_heads % n_layers), int(p % n_heads), stacks[p // n_heads // n_layers])
        for p in places
    )
    return KeptScores(tuple(sequences), heads, tuple(roles), values)


def _coded(column: pa.ChunkedArray) -> tuple[NDArray[np.int64], list[Any]]:
    """A column of labels as numbers, and the labels in sorted order."""
    encoded = pc.dictionary_encode(column.combine_chunks())
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    labels = encoded.dictionary.to_pylist()
    order = sorted(range(len(labels)), key=lambda i: labels[i])
    rank = np.empty(len(labels), dtype=np.int64)
    rank[order] = np.arange(len(labels))
    return rank[encoded.indices.to_numpy()], [labels[i] for i in order]
