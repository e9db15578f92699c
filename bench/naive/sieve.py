"""Sieve bias (Pande et al. 2021): mean weight over a token's sieve, over the mean weight 1/n."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from bench.naive.stored import Maps
from headscope.types import Encoded, TokenKind

_DELIMITERS = {TokenKind.CLS, TokenKind.SEP}


def _near(encoded: Encoded, query: int) -> set[int]:
    return {k for k in range(query - 2, query + 3) if 0 <= k < encoded.n_tokens}


def _delimiters(encoded: Encoded, query: int) -> set[int]:
    return {k for k in range(encoded.n_tokens) if encoded.kinds[k] in _DELIMITERS}


def _related(encoded: Encoded, query: int) -> set[int]:
    """Tokens of the word's head and of the words that depend on it."""
    tree, word = encoded.sequence.dependencies, int(encoded.words[query])
    if tree is None or word < 0:
        return set()
    wanted = {child for child, head in enumerate(tree.heads) if head == word}
    if tree.heads[word] >= 0:
        wanted.add(tree.heads[word])
    return {k for k in range(encoded.n_tokens) if int(encoded.words[k]) in wanted}


#: Some of the roles, by their names: what a token's sieve is.
SIEVES: dict[str, Callable[[Encoded, int], set[int]]] = {
    "local": _near,
    "prev_local": lambda e, q: {k for k in _near(e, q) if k < q},
    "next_local": lambda e, q: {k for k in _near(e, q) if k > q},
    "delimiter": _delimiters,
    "syntactic": _related,
}


def sieve(maps: Maps, encoded: Encoded) -> NDArray[np.float64]:
    """[layer, head, role] of one sequence, roles as in `SIEVES`."""
    n_layers, n_heads, n, _ = maps.shape
    found = np.full((n_layers, n_heads, len(SIEVES)), math.nan)
    for place, keys_of in enumerate(SIEVES.values()):
        sieves = [sorted(keys_of(encoded, query)) for query in range(n)]
        for layer in range(n_layers):
            for head in range(n_heads):
                biases = []
                for query, keys in enumerate(sieves):
                    if keys:
                        biases.append(maps[layer, head, query, keys].mean() / (1 / n))
                if biases:
                    found[layer, head, place] = sum(biases) / len(biases)
    return found
