"""How much verbs look at their subjects, pronouns at nouns, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise, product
from typing import ClassVar, Literal, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor

from headscope.measures.later import Later, moments_later
from headscope.measures.measure import MEASURES, LayerMeasure, Total
from headscope.measures.per_sequence import head_table
from headscope.measures.token_classes import class_of_relation, class_of_tag, sides
from headscope.models import StackLayout, View
from headscope.types import Encoded, Result, Sequence
from headscope.values import Moments

LINKS = ("verb_to_subject", "subject_to_verb", "pronoun_to_noun", "noun_to_pronoun")


class Pairs(NamedTuple):
    """Token pairs of a batch: `sequence[i]`, and the positions of its two tokens."""

    sequence: Int[Tensor, " pair"]
    first: Int[Tensor, " pair"]
    second: Int[Tensor, " pair"]

    @property
    def back(self) -> Pairs:
        return Pairs(self.sequence, self.second, self.first)


def verbs_and_subjects(sequence: Sequence) -> Iterator[tuple[int, int]]:
    """(verb, subject) by word: an nsubj whose head is tagged as a verb."""
    if sequence.dependencies is None or sequence.pos is None:
        return
    tree = sequence.dependencies
    for word, (head, relation) in enumerate(zip(tree.heads, tree.relations, strict=True)):
        is_subject = class_of_relation(relation) == "subject"
        if is_subject and head >= 0 and class_of_tag(sequence.pos[head]) == "verb":
            yield head, word


def pronouns_and_nouns(sequence: Sequence) -> Iterator[tuple[int, int]]:
    """(pronoun, noun) by word: every pair of one sentence."""
    if sequence.pos is None:
        return
    borders = [*(sequence.sentences or (0,)), len(sequence.pos)]
    for start, end in pairwise(borders):
        kinds = [class_of_tag(tag) for tag in sequence.pos[start:end]]
        pronouns = [start + i for i, kind in enumerate(kinds) if kind == "pronoun"]
        nouns = [start + i for i, kind in enumerate(kinds) if kind == "noun"]
        yield from product(pronouns, nouns)


def token_pairs(encoded: Encoded, words: Iterator[tuple[int, int]]) -> NDArray[np.int64]:
    """Pairs of words as all pairs of their tokens, `[pair, 2]`."""
    tokens: dict[int, list[int]] = {}
    for position, word in enumerate(encoded.words.tolist()):
        tokens.setdefault(word, []).append(position)
    found = [
        pair
        for first, second in words
        for pair in product(tokens.get(first, ()), tokens.get(second, ()))
    ]
    return np.array(found, dtype=np.int64).reshape(-1, 2)


def batch_pairs(view: View, words: Callable[[Sequence], Iterator[tuple[int, int]]]) -> Pairs:
    """The token pairs of all sequences of a batch."""
    found = [token_pairs(e, words(e.sequence)) for e in sides(view)]
    sequence = np.repeat(np.arange(len(found)), [len(pairs) for pairs in found])
    together = np.column_stack([sequence, np.concatenate(found)])
    columns = torch.from_numpy(together).to(view.pattern.device).unbind(dim=1)
    return Pairs(*columns)


def linked(
    pattern: Float[Tensor, "batch head query key"], pairs: Pairs, over: Literal["max", "mean"]
) -> Float[Tensor, "batch head"]:
    """Per sequence the greatest (or mean) weight from the first to the second token of its pairs.

    >>> pattern = torch.tensor([[[[0.2, 0.8], [0.6, 0.4]]]])
    >>> pairs = Pairs(torch.tensor([0, 0]), torch.tensor([0, 1]), torch.tensor([1, 0]))
    >>> linked(pattern, pairs, "max").item(), round(linked(pattern, pairs, "mean").item(), 6)
    (0.800000011920929, 0.7)
    """
    n_batch, n_heads = pattern.shape[:2]
    weights = pattern[pairs.sequence, :, pairs.first, pairs.second]
    empty = torch.full((n_batch, n_heads), torch.nan, device=pattern.device)
    how: Literal["amax", "mean"] = "amax" if over == "max" else "mean"
    where = pairs.sequence[:, None].expand_as(weights)
    return empty.scatter_reduce(0, where, weights, how, include_self=False)


@MEASURES.register("links")
class TokenLinks(LayerMeasure):
    """How much attention runs along verb–subject and pronoun–noun links, either way.

        value = max over the sequence's linked token pairs (a, b) of pattern[a, b]

    then the mean over the sequences that have such a link, with a 95 % interval. Verbs are linked
    to their subjects (nsubj and its subtypes; the head must be tagged as a verb, so copulas are
    left out), pronouns to every noun of their sentence; every token of a split word counts. With
    `over=mean` it is the mean over pairs instead, which does not grow with their number.

    A high value may be mere nearness: subjects stand before their verbs, and a previous-token head
    scores without knowing either. Compare with `distance` and with the role tests before calling a
    head syntactic. Pronouns and nouns are not taken to corefer; `coreference` asks for that.

    Source: Kovaleva et al. 2019, §4.5, "Token-to-token attention". The paper leaves the pairs and
    their aggregate open; the maximum is what it takes in its other experiments (§4.2, §4.4).
    """

    name: ClassVar[str] = "links"
    needs: ClassVar[frozenset[str]] = frozenset({"words", "pos"})
    tables: ClassVar[tuple[str, ...]] = ("links",)

    over: Literal["max", "mean"] = Field("max", description="of a sequence's pairs: max or mean")

    def applies_to(self, stack: StackLayout) -> bool:
        return stack.stack != "cross"

    def look(self, view: View) -> Later[Moments]:
        subjects = view.once("links/subjects", lambda: batch_pairs(view, verbs_and_subjects))
        nouns = view.once("links/nouns", lambda: batch_pairs(view, pronouns_and_nouns))
        ways = (subjects, subjects.back, nouns, nouns.back)
        found = [linked(view.pattern, pairs, self.over) for pairs in ways]
        return moments_later(torch.stack(found, dim=-1))

    def finish(self, total: Total) -> Result:
        return Result({"links": head_table(total, LINKS, label="link")})
