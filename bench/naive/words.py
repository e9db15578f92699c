"""Attention between words (Clark et al. 2019, §4.1): to a word the sum, from a word the mean."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bench.naive.stored import Maps
from headscope.types import Encoded


def units(encoded: Encoded) -> list[list[int]]:
    """The tokens of every word, and every special token alone, in order."""
    found: list[list[int]] = []
    place: dict[int, int] = {}
    for token, word in enumerate(encoded.words.tolist()):
        if word >= 0 and word in place:
            found[place[word]].append(token)
        else:
            place[word] = len(found)
            found.append([token])
    return found


def merged(maps: Maps, encoded: Encoded) -> NDArray[np.float64]:
    """[layer, head, unit, unit] of one sequence."""
    n_layers, n_heads, n, _ = maps.shape
    tokens = units(encoded)
    found = np.zeros((n_layers, n_heads, len(tokens), len(tokens)))
    for layer in range(n_layers):
        for head in range(n_heads):
            to_words = np.zeros((n, len(tokens)))
            for place, members in enumerate(tokens):
                to_words[:, place] = maps[layer, head][:, members].sum(axis=1)
            for place, members in enumerate(tokens):
                found[layer, head, place] = to_words[members].mean(axis=0)
    return found
