"""How well the network's names agree with those people gave."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from headscope.measures.patterns.classes import PATTERNS
from headscope.measures.patterns.labelled_maps import LabelledMaps
from headscope.measures.patterns.network import PatternNetwork
from headscope.measures.patterns.seeing import seen_maps


@dataclass(frozen=True, slots=True, eq=False)
class Score:
    """A confusion matrix: rows are labels given by eye, columns the network's names."""

    confusion: NDArray[np.int64]

    @property
    def precision(self) -> NDArray[np.float64]:
        return _ratio(np.diag(self.confusion), self.confusion.sum(axis=0))

    @property
    def recall(self) -> NDArray[np.float64]:
        return _ratio(np.diag(self.confusion), self.confusion.sum(axis=1))

    @property
    def f1(self) -> NDArray[np.float64]:
        """2 · hits / (named + labelled) per shape; NaN where there is neither."""
        both = self.confusion.sum(axis=0) + self.confusion.sum(axis=1)
        return _ratio(2 * np.diag(self.confusion), both)

    @property
    def macro_f1(self) -> float:
        """The mean of the shapes' F1, over those that occur."""
        return float(np.nanmean(self.f1))

    @property
    def accuracy(self) -> float:
        return float(_ratio(np.diag(self.confusion).sum(), self.confusion.sum()))


def score(labels: NDArray[np.int64], named: NDArray[np.int64]) -> Score:
    """Labels and names as numbers of `PATTERNS`.

    >>> score(np.array([0, 0, 1]), np.array([0, 1, 1])).f1[:2].round(3).tolist()
    [0.667, 0.667]
    """
    n = len(PATTERNS)
    return Score(np.bincount(labels * n + named, minlength=n * n).reshape(n, n))


def cohens_kappa(confusion: NDArray[np.int64]) -> float:
    """Agreement beyond chance, (p − e) / (1 − e), of two looks at the same maps.

    Source: Cohen (1960), Educational and Psychological Measurement 20(1), eq. 1.

    >>> round(cohens_kappa(np.array([[20, 5], [10, 15]])), 3)
    0.4
    """
    total = confusion.sum()
    agreed = np.trace(confusion) / total
    expected = float((confusion.sum(axis=0) * confusion.sum(axis=1)).sum()) / float(total) ** 2
    return float((agreed - expected) / (1 - expected))


def second_look(maps: LabelledMaps) -> Score | None:
    """The labels against the second look, over maps that were looked at twice."""
    return _agreement((one.label, one.second) for one in maps.labels)


def looks(maps: LabelledMaps) -> dict[str, Score]:
    """What is known about the labels: other looks at the same maps, against them.

    The first two annotators are compared with each other: of labels that follow from what they
    said, each is a part.
    """
    rows = maps.labels
    told = {
        "second look": second_look(maps),
        "two annotators": _agreement(one.others[:2] for one in rows if len(one.others) > 1),
        "an earlier rule": _agreement((one.label, one.earlier) for one in rows),
    }
    return {name: found for name, found in told.items() if found is not None}


def _agreement(pairs: Iterable[Sequence[str | None]]) -> Score | None:
    """One name against the other, over the maps that have both."""
    both = [[PATTERNS.index(str(name)) for name in pair] for pair in pairs if all(pair)]
    return score(*np.array(both).T) if both else None


def names_of(
    network: PatternNetwork, images: Float[Tensor, "map layer size size"]
) -> NDArray[np.int64]:
    """The network's name for every image, as a number of `PATTERNS`."""
    with torch.inference_mode():
        parts = [network(part).argmax(dim=1) for part in torch.split(images, 256)]
    return torch.cat(parts).numpy() if parts else np.zeros(0, np.int64)


def evaluate(network: PatternNetwork, maps: LabelledMaps) -> Score:
    """The network's names for labelled maps against the labels."""
    return score(maps.targets, names_of(network, seen_maps(maps.maps)))


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """Scores of a network on labelled maps, and what is known about the labels themselves.

    `agreed` is the score on the maps that all annotators gave the same name.
    """

    overall: Score
    models: dict[str, Score]
    agreed: Score | None
    looks: dict[str, Score]


def evaluated(network: PatternNetwork, maps: LabelledMaps) -> Evaluation:
    """The network's names for labelled maps: all, of each model alone, and undisputed ones."""
    labels, named = maps.targets, names_of(network, seen_maps(maps.maps))
    models = np.array([one.model for one in maps.labels])
    agreed = np.array([one.agreed for one in maps.labels], np.bool_)
    return Evaluation(
        score(labels, named),
        {
            str(name): score(labels[models == name], named[models == name])
            for name in np.unique(models)
        },
        score(labels[agreed], named[agreed]) if agreed.any() else None,
        looks(maps),
    )


def _ratio(part: NDArray[np.int64], whole: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.where(whole > 0, part / np.maximum(whole, 1), np.nan)
