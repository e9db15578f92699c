"""Heads as parsers (Clark et al. 2019, §4.2): each word's head is the word it attends to most."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bench.naive.stored import Maps
from bench.naive.words import merged, units
from headscope.types import Encoded

_PUNCTUATION = ("punct", "p")


def parsing(maps: Maps, encoded: Encoded) -> tuple[dict[str, NDArray[np.int64]], dict[str, int]]:
    """Hits [layer, head, direction] and trials by relation, of one sequence of one sentence.

    `all` leaves punctuation out; directions are dependent to head, head to dependent.
    """
    tree = encoded.sequence.dependencies
    assert tree is not None
    words = merged(maps, encoded)
    of_unit = [int(encoded.words[tokens[0]]) for tokens in units(encoded)]
    places = [place for place, word in enumerate(of_unit) if word >= 0]
    hits: dict[str, NDArray[np.int64]] = {}
    trials: dict[str, int] = {}
    for place in places:
        word = of_unit[place]
        head_word, relation = tree.heads[word], tree.relations[word]
        if head_word < 0 or head_word not in of_unit:
            continue
        names = [relation, *(["all"] if relation.lower() not in _PUNCTUATION else [])]
        for name in names:
            trials[name] = trials.get(name, 0) + 1
            hits.setdefault(name, np.zeros((*maps.shape[:2], 2), np.int64))
        others = [p for p in places if p != place]
        for layer in range(maps.shape[0]):
            for head in range(maps.shape[1]):
                one = words[layer, head]
                for direction in range(2):
                    weights = one[place, others] if direction == 0 else one[others, place]
                    if weights.max() <= 0:
                        continue
                    predicted = of_unit[others[int(weights.argmax())]]
                    for name in names:
                        hits[name][layer, head, direction] += predicted == head_word
    return hits, trials
