"""From answers with and without heads to the change of every metric, and how sure it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.ablations.ablation import Ablation
from headscope.stats import (
    benjamini_hochberg,
    holm,
    paired_p_value,
    percentile_interval,
    resamples,
)
from headscope.tasks import Task

Floats = NDArray[np.float64]


def _stars(
    task: Task, gold: Floats, given: Sequence[Floats], n_resamples: int, seed: int
) -> Floats:
    """Every metric of every set of answers on every resample: [metric, answers, resample]."""
    metrics = task.all_metrics()
    named = [task.named(answers) for answers in given]
    parts = [
        [[metric.resampled(one, gold, counts) for one in named] for metric in metrics]
        for counts in resamples(len(gold), n_resamples, seed)
    ]
    return np.concatenate([np.array(part) for part in parts], axis=-1)


def effects(
    task: Task,
    gold: Floats,
    baseline: Floats,
    values: Floats,
    ablations: Sequence[Ablation],
    how: str,
    *,
    n_resamples: int = 9999,
    seed: int = 0,
) -> dict[str, list[Any]]:
    """The `ablation` table: one row per ablation and metric.

    Δ = metric with the heads switched off − metric without, on the same examples; its interval is
    the percentile interval of the paired bootstrap over examples, `p_value` two-sided, `q_value`
    Benjamini–Hochberg's and `p_holm` Holm's over the ablations of one metric. Examples that were
    not answered (NaN: decided early) do not count, for either side.
    """
    names = [metric.name for metric in task.all_metrics()]
    columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
    seen = ~np.isnan(values).all(axis=-1)
    patterns, which = np.unique(seen, axis=0, return_inverse=True)
    rows: dict[tuple[int, int], tuple[Any, ...]] = {}
    for number, kept in enumerate(patterns):
        mine = np.flatnonzero(which.ravel() == number)
        if not kept.any():
            continue
        given = [baseline[kept], *(values[i][kept] for i in mine.tolist())]
        whole = [task.named(one) for one in given]
        stars = _stars(task, gold[kept], given, n_resamples, seed)
        for m, metric in enumerate(task.all_metrics()):
            before = metric.score(whole[0], gold[kept])
            for j, i in enumerate(mine.tolist(), 1):
                value = metric.score(whole[j], gold[kept])
                low, high = percentile_interval(stars[m, j] - stars[m, 0])
                p_value = paired_p_value(value - before, stars[m, j] - stars[m, 0])
                n = int(kept.sum())
                rows[i, m] = (before, value, value - before, low, high, p_value, n)
    for m, name in enumerate(names):
        found = [rows.get((i, m), (np.nan,) * 6 + (0,)) for i in range(len(ablations))]
        p_values = np.array([row[5] for row in found])
        # steps of an accumulation build on one another; every row is still one question asked
        q_values, adjusted = benjamini_hochberg(p_values), holm(p_values)
        for i, ablation in enumerate(ablations):
            before, value, delta, low, high, p_value, n = found[i]
            head = ablation.single
            stack = next(iter(sorted(h.stack for h in ablation.heads)))
            row = (
                how,
                ablation.by,
                stack,
                head.layer if head else ablation.layer,
                head.head if head else None,
                ablation.group,
                len(ablation.heads),
                ablation.step,
                ",".join(str(h) for h in sorted(ablation.heads)),
                name,
                before,
                value,
                delta,
                low,
                high,
                p_value,
                float(q_values[i]),
                float(adjusted[i]),
                n,
            )
            for column, cell in zip(_COLUMNS, row, strict=True):
                columns[column].append(cell)
    return columns


_COLUMNS = (
    "edit",
    "by",
    "stack",
    "layer",
    "head",
    "group",
    "n_heads",
    "step",
    "heads",
    "metric",
    "baseline",
    "value",
    "delta",
    "ci_low",
    "ci_high",
    "p_value",
    "q_value",
    "p_holm",
    "n",
)


def interactions(
    task: Task,
    gold: Floats,
    baseline: Floats,
    values: Floats,
    ablations: Sequence[Ablation],
    how: str,
    *,
    n_resamples: int = 9999,
    seed: int = 0,
) -> dict[str, list[Any]]:
    """The `interaction` table: what two heads do together beyond the sum of what each does.

        interaction = Δ(a and b) − Δ(a) − Δ(b)

    Of an accuracy, a negative one says that either head can stand in for the other (together they
    are missed more than alone); a positive one that what the second does needs the first.
    """
    where = {next(iter(a.heads)): i for i, a in enumerate(ablations) if a.by == "head"}
    pairs = [(i, a) for i, a in enumerate(ablations) if a.by == "pair"]
    stars = _stars(task, gold, [baseline, *values], n_resamples, seed)
    columns: dict[str, list[Any]] = {name: [] for name in _INTERACTION}
    for m, metric in enumerate(task.all_metrics()):
        scores = [metric.score(task.named(one), gold) for one in (baseline, *values)]
        rows = []
        for i, pair in pairs:
            a, b = sorted(pair.heads)
            ends = (i + 1, where[a] + 1, where[b] + 1)
            found = scores[ends[0]] - scores[ends[1]] - scores[ends[2]] + scores[0]
            star = stars[m, ends[0]] - stars[m, ends[1]] - stars[m, ends[2]] + stars[m, 0]
            rows.append((a, b, found, *percentile_interval(star), paired_p_value(found, star)))
        q_values = benjamini_hochberg([row[5] for row in rows])
        for (a, b, found, low, high, p_value), q_value in zip(rows, q_values, strict=True):
            row = (
                how, a.stack, a.layer, a.head, b.layer, b.head, metric.name, found, low, high,
                p_value, float(q_value), len(gold),
            )  # fmt: skip
            for column, cell in zip(_INTERACTION, row, strict=True):
                columns[column].append(cell)
    return columns


_INTERACTION = (
    "edit", "stack", "layer_a", "head_a", "layer_b", "head_b", "metric", "interaction", "ci_low",
    "ci_high", "p_value", "q_value", "n",
)  # fmt: skip
