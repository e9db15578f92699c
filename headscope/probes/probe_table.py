"""Outcomes of probes as the rows of the table `probe`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.probes.probe_task import TEST, TRAIN, VALIDATION, ProbeTask
from headscope.probes.protocol import Outcome
from headscope.probes.scores import intervals, permutation_p_values, scores
from headscope.stats import benjamini_hochberg
from headscope.types import Stack

_NUMBERS = ("validation", "test", "ci_low", "ci_high", "control", "p_value", "q_value", "l2")
_PLACES = ("layer", "head", "n_heads", "rank")
_WORDS = ("stack", "task", "representation", "metric")
COLUMNS = (*_WORDS, *_PLACES, *_NUMBERS, "n")


@dataclass(frozen=True, eq=False)
class Found:
    """An outcome and what it is of: a head, a layer, or so many heads side by side."""

    representation: str
    outcome: Outcome
    layer: int | None = None
    head: int | None = None
    n_heads: int | None = None
    rank: int | None = None


def ranked(outcomes: Sequence[Outcome], metric: str) -> list[int]:
    """Places of heads or layers, best validation score first; of equals the earlier one.

    The test score has no say. Source: Jo & Myaeng (2020), §3.3.
    """
    found = np.array([o.validation[metric] for o in outcomes])
    order = np.argsort(-np.nan_to_num(found, nan=-np.inf), kind="stable")
    return [int(i) for i in order]


def curve_counts(n_heads: int, n_plain: int, how: str) -> list[int]:
    """How many heads are put side by side: 1 … L·H, every n or a few well spread ones.

    >>> curve_counts(72, 12, "auto")
    [1, 2, 3, 4, 6, 8, 12, 18, 24, 30, 36, 42, 48, 54, 60, 66, 72]
    >>> curve_counts(16, 8, "none")
    [8]
    """
    n_plain = min(n_plain, n_heads)
    if how == "none":
        return [n_plain]
    if how == "all":
        return list(range(1, n_heads + 1))
    few = {1, 2, 3, 4, 6, 8, n_plain, n_heads}
    step = max(1, n_plain // 2, -(-n_heads // 16))
    return sorted(n for n in few | set(range(n_plain, n_heads, step)) if n <= n_heads)


def rows_of(
    task: ProbeTask, stack: Stack, found: Sequence[Found], *, n_permutations: int, seed: int
) -> dict[str, list[Any]]:
    """Columns of the table: every outcome by every metric, with interval, control and p-value.

    q-values correct for the number of heads, of layers and of curve points, each on their own.
    """
    gold = task.gold[task.rows(TEST)]
    predicted = np.stack([f.outcome.predicted for f in found])
    columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    kinds = [f.representation for f in found]
    for metric in task.metrics:
        low, high = intervals(metric, predicted, gold, seed)
        p_values = permutation_p_values(
            metric, predicted, gold, n_permutations=n_permutations, seed=seed
        )
        numbers: dict[str, Iterable[float]] = {
            "validation": [f.outcome.validation[metric] for f in found],
            "test": scores(metric, predicted, gold),
            "ci_low": low,
            "ci_high": high,
            "control": [_control(f.outcome, metric, task) for f in found],
            "p_value": p_values,
            "q_value": _corrected(kinds, p_values),
            "l2": [f.outcome.l2 for f in found],
        }
        for name, values in numbers.items():
            columns[name] += [float(v) for v in values]
        columns["representation"] += kinds
        for name in ("layer", "head", "n_heads", "rank"):
            columns[name] += [getattr(f, name) for f in found]
        n_rows = len(found)
        columns["stack"] += [stack] * n_rows
        columns["task"] += [task.name] * n_rows
        columns["metric"] += [metric] * n_rows
        columns["n"] += [len(gold)] * n_rows
    return columns


def _control(outcome: Outcome, metric: str, task: ProbeTask) -> float:
    """The mean over shuffles; NaN where there is none, as for every metric but the first."""
    if metric != task.metrics[0] or not len(outcome.controls):
        return float("nan")
    known = outcome.controls[~np.isnan(outcome.controls)]
    # a probe that learnt nothing may say the same number everywhere: no correlation, then
    return float(known.mean()) if len(known) else float("nan")


def _corrected(kinds: Sequence[str], p_values: NDArray[np.float64]) -> NDArray[np.float64]:
    q = np.full(len(p_values), np.nan)
    for kind in ("head", "layer", "top_n"):
        mine = np.array([k == kind for k in kinds])
        if mine.any():
            q[mine] = benjamini_hochberg(p_values[mine])
    return q


def task_row(task: ProbeTask, seconds: float) -> dict[str, Any]:
    """What the table `probe_tasks` says of a task."""
    counts = {part: len(task.rows(part)) for part in (TRAIN, VALIDATION, TEST)}
    return {
        "task": task.name,
        "metric": task.metrics[0],
        "n_classes": len(task.classes) or None,
        "n_train": counts[TRAIN],
        "n_validation": counts[VALIDATION],
        "n_test": counts[TEST],
        "chance": task.chance,
        "pairs": task.has_pairs,
        "seconds": seconds,
    }


def packed(columns: Mapping[str, Sequence[Any]]) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Columns as arrays and JSON, for a checkpoint; `unpacked` is the opposite."""
    arrays = {name: np.array(columns[name], np.float64) for name in _NUMBERS}
    arrays["n"] = np.array(columns["n"], np.int64)
    for name in _PLACES:
        arrays[name] = np.array([-1 if v is None else v for v in columns[name]], np.int64)
    return arrays, {name: list(columns[name]) for name in _WORDS}


def unpacked(
    arrays: Mapping[str, NDArray[Any]], words: Mapping[str, Sequence[str]]
) -> dict[str, list[Any]]:
    """Columns from what `packed` made of them."""
    columns: dict[str, list[Any]] = {name: list(words[name]) for name in _WORDS}
    for name in _PLACES:
        columns[name] = [None if v < 0 else int(v) for v in arrays[name]]
    for name in (*_NUMBERS, "n"):
        columns[name] = arrays[name].tolist()
    return {name: columns[name] for name in COLUMNS}
