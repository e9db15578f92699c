"""How good predictions are, how sure that is, and whether chance would do as well."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from headscope.stats import wilson_interval
from headscope.tasks.metrics import Answers, metric_named

Floats = NDArray[np.float64]

#: Resamples behind an interval that has no formula.
N_RESAMPLES = 500


def scores(metric: str, predicted: NDArray[Any], gold: NDArray[Any]) -> Floats:
    """The metric of every row of predictions.

    >>> scores("accuracy", np.array([[0, 1, 1], [0, 0, 1]]), np.array([0, 1, 1])).round(2).tolist()
    [1.0, 0.67]
    """
    flat = predicted.reshape(-1, predicted.shape[-1])
    if metric == "accuracy":
        found = (flat == gold).mean(axis=-1)
    else:
        rule = metric_named(metric)
        numbers = gold.astype(np.float64)
        found = np.array([rule.score(_named(row), numbers) for row in flat])
    return np.asarray(found, np.float64).reshape(predicted.shape[:-1])


def intervals(
    metric: str, predicted: NDArray[Any], gold: NDArray[Any], seed: int = 0
) -> tuple[Floats, Floats]:
    """95 % intervals of the metric: Wilson's for accuracy, else the bootstrap over test rows.

    They tell how much the score would vary with other test rows, not with other training rows.
    """
    n = len(gold)
    if metric == "accuracy":
        return wilson_interval((predicted == gold).sum(axis=-1), n)
    random = np.random.default_rng(seed)
    counts = random.multinomial(n, np.full(n, 1 / n), size=N_RESAMPLES).astype(np.float64)
    rule, numbers = metric_named(metric), gold.astype(np.float64)
    low, high = np.empty((2, len(predicted)))
    for i, row in enumerate(predicted):
        drawn = rule.resampled(_named(row), numbers, counts)
        known = drawn[~np.isnan(drawn)]
        low[i], high[i] = np.quantile(known, (0.025, 0.975)) if len(known) else (np.nan, np.nan)
    return low, high


def permutation_p_values(
    metric: str,
    predicted: NDArray[Any],
    gold: NDArray[Any],
    *,
    n_permutations: int = 999,
    seed: int = 0,
) -> Floats:
    """p-values of H0: predictions and gold labels of the test rows have nothing to do with it.

        p = (1 + #{score on shuffled labels ≥ score}) / (1 + n_permutations)

    The labels are shuffled, the predictions stay; so classes keep their frequencies and a probe
    that always says the same has p = 1. All predictions see the same shuffles, as one matrix
    product. Source: Good (2005), "Permutation, Parametric and Bootstrap Tests of Hypotheses", §3.

    >>> gold = np.arange(40) % 2
    >>> permutation_p_values("accuracy", np.stack([gold, 0 * gold]), gold).tolist()
    [0.001, 1.0]
    """
    random = np.random.default_rng(seed)
    said, true = _products(metric, predicted, gold)
    observed = np.einsum("mnk,nk->m", said, true)
    shuffles = np.stack([random.permutation(len(gold)) for _ in range(n_permutations)])
    at_least = np.zeros(len(predicted), np.int64)
    flat = said.reshape(len(said), -1)
    for part in np.array_split(shuffles, max(1, n_permutations // 100)):
        drawn = true[part].reshape(len(part), -1)
        # rounding must not make a tie a loss
        at_least += (flat @ drawn.T >= observed[:, None] - 1e-9 * np.abs(observed)[:, None]).sum(1)
    return (1 + at_least) / (1 + n_permutations)


def _products(metric: str, predicted: NDArray[Any], gold: NDArray[Any]) -> tuple[Floats, Floats]:
    """Predictions and gold such that Σ said · true rises with the metric, all else being fixed."""
    if metric == "accuracy":
        classes = np.arange(int(gold.max()) + 1)
        return (predicted[..., None] == classes).astype(float), (gold[:, None] == classes) * 1.0
    if metric == "f1":  # 2·tp / (said + true), and only tp changes
        return (predicted == 1)[..., None] * 1.0, (gold == 1)[:, None] * 1.0
    x, y = predicted.astype(np.float64), gold.astype(np.float64)
    if metric == "spearman":
        x, y = rankdata(x, axis=-1), rankdata(y)
    return (x - x.mean(axis=-1, keepdims=True))[..., None], (y - y.mean())[:, None]


def _named(row: NDArray[Any]) -> Answers:
    numbers = row.astype(np.float64)
    return {"class": numbers, "value": numbers}
