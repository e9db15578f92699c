"""Words that a dependency links: any, and four relations on their own.

A link counts from either end, dependent and head (Pande et al. 2021, Figure 1), unless `direction`
says otherwise, and from every token of a word to every token of the other. Labels are those of
Universal Dependencies; Stanford's `dobj` is `obj`. A subtype counts with its relation
(`advmod:emph` as `advmod`), except passives: `nsubj:pass` is no `nsubj`, as `nsubjpass` is none in
Stanford's scheme and in the paper.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Bool, UInt8
from torch import Tensor

from headscope.measures.roles.role import RoleBatch, role

RELATIONS = ("nsubj", "obj", "amod", "advmod")
_SAME = {"dobj": "obj"}
_ANY = 1  # bit 0: any relation; bit i + 1: RELATIONS[i]
_BITS = {name: 2 << i for i, name in enumerate(RELATIONS)}


def bits_of(label: str) -> int:
    """The roles a relation counts for, as bits.

    >>> [bits_of(label) for label in ("det", "nsubj", "dobj", "nsubj:pass", "advmod:emph")]
    [1, 3, 5, 1, 17]
    """
    base, _, subtype = label.partition(":")
    return _ANY | (0 if subtype == "pass" else _BITS.get(_SAME.get(base, base), 0))


def links(batch: RoleBatch) -> UInt8[Tensor, "batch query key"]:
    """Which relations link the words of every two tokens, as bits; 0 for none."""
    n_words = max(len(e.sequence.words or ()) for e in batch.encoded)
    # One row and column more, always empty, for tokens outside any word (index -1).
    words = np.zeros((len(batch.encoded), n_words + 1, n_words + 1), dtype=np.uint8)
    for table, encoded in zip(words, batch.encoded, strict=True):
        tree = encoded.sequence.dependencies
        if tree is None:
            continue
        for dependent, (head, label) in enumerate(zip(tree.heads, tree.relations, strict=True)):
            if head < 0:  # a root, or a head that was cut off
                continue
            if batch.options.direction != "head_to_dependent":
                table[dependent, head] |= bits_of(label)
            if batch.options.direction != "dependent_to_head":
                table[head, dependent] |= bits_of(label)
    index = batch.tokens.words
    rows = torch.arange(len(batch.encoded), device=index.device)[:, None, None]
    linked: Tensor = torch.from_numpy(words).to(index.device)
    return linked[rows, index[:, :, None], index[:, None, :]]


def _linked(bit: int) -> Callable[[RoleBatch], Bool[Tensor, "batch query key"]]:
    def sieve(batch: RoleBatch) -> Bool[Tensor, "batch query key"]:
        return (batch.once("links", lambda: links(batch)) & bit) > 0

    return sieve


@role("syntactic", needs={"dependencies"})
def syntactic(batch: RoleBatch) -> Bool[Tensor, "batch query key"]:
    """The words that any dependency links to the token's word."""
    return _linked(_ANY)(batch)


@role("nsubj", needs={"dependencies"})
def nsubj(batch: RoleBatch) -> Bool[Tensor, "batch query key"]:
    """From a subject to its predicate and back."""
    return _linked(_BITS["nsubj"])(batch)


@role("obj", needs={"dependencies"})
def obj(batch: RoleBatch) -> Bool[Tensor, "batch query key"]:
    """From a direct object to its verb and back."""
    return _linked(_BITS["obj"])(batch)


@role("amod", needs={"dependencies"})
def amod(batch: RoleBatch) -> Bool[Tensor, "batch query key"]:
    """From an adjective to its noun and back."""
    return _linked(_BITS["amod"])(batch)


@role("advmod", needs={"dependencies"})
def advmod(batch: RoleBatch) -> Bool[Tensor, "batch query key"]:
    """From an adverb to what it modifies and back."""
    return _linked(_BITS["advmod"])(batch)
