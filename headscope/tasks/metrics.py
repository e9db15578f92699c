"""Metrics, of a data set and of any number of resamples of it at once.

A metric reads the *answers* of a model (one row of numbers per example, its columns named by the
task) and the gold numbers. All it is asked is `resampled`: its value on data sets in which example
i stands `counts[r, i]` times. Almost all metrics are functions of sums over examples, so thousands
of resamples are one matrix product; the plain score is the resample in which everything counts
once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from headscope.errors import UsageError

Floats = NDArray[np.float64]
#: A model's answers: columns by name, each of length n.
Answers = Mapping[str, Floats]


@dataclass(frozen=True)
class Metric(ABC):
    """A named number that says how good answers are."""

    name: str
    higher_is_better: bool = True

    @abstractmethod
    def resampled(self, answers: Answers, gold: Floats, counts: Floats) -> Floats:
        """The metric on every resample `counts[r]`; NaN where it is not defined."""

    def score(self, answers: Answers, gold: Floats) -> float:
        """The metric on the data as they are."""
        return float(self.resampled(answers, gold, np.ones((1, len(gold))))[0])


def ratio(above: Floats, below: Floats) -> Floats:
    """Above / below, NaN where there is nothing to divide by."""
    found: Floats = np.where(below == 0, np.nan, above / np.where(below == 0, 1.0, below))
    return found


@dataclass(frozen=True)
class MeanOf(Metric):
    """The mean of one column of the answers, weighted by another one if it is named.

    NaN (an answer beyond the cut has no loss) is no data and does not count.

    >>> MeanOf("loss", column="loss").score({"loss": np.array([1.0, 3.0])}, np.zeros(2))
    2.0
    """

    column: str = ""
    weight: str = ""

    def resampled(self, answers: Answers, gold: Floats, counts: Floats) -> Floats:
        weight = answers[self.weight] if self.weight else np.ones(len(gold))
        known = ~np.isnan(answers[self.column])
        weight = np.where(known, weight, 0.0)
        return ratio(
            counts @ (np.where(known, answers[self.column], 0.0) * weight), counts @ weight
        )


@dataclass(frozen=True)
class Accuracy(Metric):
    """The share of examples whose class is right.

    >>> right = {"class": np.array([0.0, 1.0, 1.0, 1.0])}
    >>> Accuracy("accuracy").score(right, np.array([0.0, 1.0, 0.0, 1.0]))
    0.75
    """

    def resampled(self, answers: Answers, gold: Floats, counts: Floats) -> Floats:
        right = (answers["class"] == gold).astype(np.float64)
        return ratio(counts @ right, counts.sum(axis=1))


@dataclass(frozen=True)
class F1(Metric):
    """F1 of class 1: 2·tp / (2·tp + fp + fn), as GLUE takes it for MRPC.

    >>> answers = {"class": np.array([1.0, 1.0, 0.0, 0.0])}
    >>> round(F1("f1").score(answers, np.array([1.0, 0.0, 1.0, 0.0])), 4)      # tp = fp = fn = 1
    0.5
    """

    def resampled(self, answers: Answers, gold: Floats, counts: Floats) -> Floats:
        said, true = answers["class"] == 1, gold == 1
        both = counts @ (said & true).astype(np.float64)
        either = counts @ (said.astype(np.float64) + true.astype(np.float64))
        return ratio(2 * both, either)


@dataclass(frozen=True)
class Pearson(Metric):
    """Pearson's correlation of predicted and gold numbers.

    >>> Pearson("pearson").score({"value": np.array([1.0, 2, 3])}, np.array([2.0, 4, 6]))
    1.0
    """

    def resampled(self, answers: Answers, gold: Floats, counts: Floats) -> Floats:
        # centred first: sums of squares of far-off numbers lose digits
        x, y = answers["value"], gold
        x, y = x - x.mean(), y - y.mean()
        n = counts.sum(axis=1)
        sums = counts @ np.stack([x, y, x * x, y * y, x * y], axis=1)
        return _correlation(n, *sums.T)


@dataclass(frozen=True)
class Spearman(Metric):
    """Spearman's correlation: Pearson's of the ranks, ties sharing their mean rank.

    In a resample an example that stands c times is c tied examples: with examples sorted by value,
    the mean rank of a group of equals is the number before it plus (its size + 1) / 2.

    >>> Spearman("spearman").score({"value": np.array([1.0, 10, 100])}, np.array([1.0, 2, 3]))
    1.0
    """

    def resampled(self, answers: Answers, gold: Floats, counts: Floats) -> Floats:
        found = np.empty(len(counts))
        for start in range(0, len(counts), 1024):
            part = counts[start : start + 1024]
            x, y = _mean_ranks(answers["value"], part), _mean_ranks(gold, part)
            n = part.sum(axis=1)
            middle = ((n + 1) / 2)[:, None]
            x, y = x - middle, y - middle
            sums = [(part * term).sum(axis=1) for term in (x, y, x * x, y * y, x * y)]
            found[start : start + 1024] = _correlation(n, *sums)
        return found


def _mean_ranks(values: Floats, counts: Floats) -> Floats:
    """The mean rank of every value in every resample."""
    _, group = np.unique(values, return_inverse=True)
    order = np.argsort(group, kind="stable")
    first = np.flatnonzero(np.r_[True, np.diff(group[order]) > 0])
    sizes = np.add.reduceat(counts[:, order], first, axis=1)
    before = np.cumsum(sizes, axis=1) - sizes
    ranks: Floats = (before + (sizes + 1) / 2)[:, group]
    return ranks


def _correlation(n: Floats, x: Floats, y: Floats, xx: Floats, yy: Floats, xy: Floats) -> Floats:
    """From sums over examples."""
    n = np.maximum(n, 1.0)
    covariance, spread = xy - x * y / n, (xx - x * x / n) * (yy - y * y / n)
    enough = spread > 1e-24 * np.maximum(xx * yy, 1e-300)
    return np.where(enough, covariance / np.sqrt(np.where(enough, spread, 1.0)), np.nan)


METRICS: Final[Mapping[str, Metric]] = {
    metric.name: metric
    for metric in (
        Accuracy("accuracy"),
        F1("f1"),
        Pearson("pearson"),
        Spearman("spearman"),
        MeanOf("exact_match", column="exact"),
        MeanOf("answer_f1", column="f1"),
        MeanOf("token_loss", higher_is_better=False, column="loss", weight="n_predicted"),
        MeanOf("loss", higher_is_better=False, column="loss"),
    )
}


def metric_named(name: str) -> Metric:
    """A metric by its name."""
    if name not in METRICS:
        raise UsageError(f"unknown metric {name!r}; known: {', '.join(METRICS)}")
    return METRICS[name]
