"""Heads as parsers: how often a head points from a word to its syntactic head."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor

from headscope.measures.kernels.strongest import SentenceWords, strongest_words
from headscope.measures.later import Later
from headscope.measures.measure import MEASURES, LayerMeasure, Total
from headscope.measures.parse_arcs import Arcs, arcs_of
from headscope.measures.parser_examples import ChosenSentences, chosen_sentences
from headscope.measures.parser_tables import (
    arc_table,
    baseline_table,
    best_table,
    example_table,
    parser_table,
)
from headscope.measures.parser_total import OFFSETS, ParserTotal, best_heads
from headscope.models import StackLayout, View
from headscope.models.word_attention import Rows, shares_of, units_of, word_map, word_pattern
from headscope.types import Result
from headscope.values import Bundle, Counts, Value


def pointed_words(
    words: Float[Tensor, "batch head word other"], sentences: Int[Tensor, "batch word"]
) -> tuple[Tensor, Tensor]:
    """What each word points to in both directions, [batch, head, word]; -1 where nothing.

    `dependent_to_head`: argmax over j of word[i, j], the word that i attends to most.
    `head_to_dependent`: argmax over j of word[j, i], the word that attends to i most. j is another
    word of the same sentence (-1: of none), the first of equals; no word at all where no candidate
    has any weight (a causal model's first word).

    >>> words = torch.tensor([[[[0.1, 0.7, 0.2], [0.3, 0.3, 0.4], [0.9, 0.1, 0.0]]]])
    >>> [p.tolist() for p in pointed_words(words, torch.zeros(1, 3))]
    [[[[1, 2, 0]]], [[[2, 0, 1]]]]
    """
    same = (sentences[:, :, None] == sentences[:, None, :]) & (sentences >= 0)[:, :, None]
    itself = torch.eye(same.shape[1], dtype=torch.bool, device=same.device)
    allowed = words * (same & ~itself)[:, None]
    found = []
    for axis in (-1, -2):
        weight, index = allowed.max(dim=axis)
        found.append(index.masked_fill(weight <= 0, -1))
    return found[0], found[1]


def _pointed(view: View, arcs: Arcs, rows: Rows) -> tuple[Tensor, Tensor]:
    """`pointed_words`; on the processor without making word maps of whole sequences."""
    if view.pattern.device.type != "cpu":
        return pointed_words(word_pattern(view, rows), arcs.sentences)
    words = view.once(
        f"parser/words/{rows}",
        lambda: SentenceWords.of(
            units_of(view)[0].units.numpy(), shares_of(view, rows).numpy(), arcs.sentences.numpy()
        ),
    )
    found = strongest_words(view.pattern.numpy(), words, torch.get_num_threads())
    return torch.from_numpy(found[0]), torch.from_numpy(found[1])


def hits(pointed: Tensor, arcs: Arcs) -> Float[Tensor, "arc head"]:
    """1 where a head's prediction for an arc's dependent, or for its 's, is the gold head."""
    right = pointed[arcs.rows, :, arcs.dependents] == arcs.heads[:, None]
    if arcs.has_clitics:
        other = pointed[arcs.rows, :, arcs.clitics.clamp(min=0)] == arcs.heads[:, None]
        right |= other & (arcs.clitics >= 0)[:, None]
    return right.to(torch.float32)


def offset_hits(arcs: Arcs) -> NDArray[np.float32]:
    """[arc, offset]: 1 where the head stands at that fixed distance from the dependent."""
    offsets = np.array(OFFSETS)
    right = arcs.offsets[:, None] == offsets
    right |= (arcs.clitic_offsets != 0)[:, None] & (arcs.clitic_offsets[:, None] == offsets)
    found: NDArray[np.float32] = right.astype(np.float32)
    return found


def _counted(table: NDArray[np.float64], trials: NDArray[np.float64], arcs: Arcs) -> Bundle:
    """Hits [group, …] by relation, each with the trials of its group: [half, …]."""
    shape = (1 + len(arcs.relations), 2, *table.shape[1:])
    right = table.reshape(shape)
    tried = np.broadcast_to(trials.reshape(shape[:2] + (1,) * (len(shape) - 2)), shape)
    parts: dict[str, Value] = {
        name: Counts(right[1 + i], tried[1 + i]) for i, name in enumerate(arcs.relations)
    }
    return Bundle({"all": Counts(right[0], tried[0]), "relations": Bundle(parts)})


def _value(
    arcs: Arcs,
    groups: NDArray[np.float32],
    sentences: ChosenSentences,
    is_first: bool,
    right: NDArray[np.float64],
    *shown: NDArray[Any],
) -> Bundle:
    trials = groups.sum(axis=0).astype(np.float64)
    parts: dict[str, Value] = {"heads": _counted(right, trials, arcs)}
    parts |= sentences.of_layer(*shown)
    if is_first:
        offsets = np.einsum("ag,ao->go", groups, offset_hits(arcs))
        parts["offsets"] = _counted(offsets.astype(np.float64), trials, arcs)
        parts["sentences"] = sentences.texts()
    return Bundle(parts)


@MEASURES.register("parser")
class DependencyParser(LayerMeasure):
    """How often a head, used as a parser, points from a word to its syntactic head.

    Between words (`word_attention`), in both directions and for every word i with a head in its
    sentence:

        dependent_to_head:  prediction(i) = argmax_j word[i, j]      i attends to j most
        head_to_dependent:  prediction(i) = argmax_j word[j, i]      j attends to i most of all
        accuracy = share of words whose prediction is their gold head

    per relation, as the corpus names them, and over all words without punctuation (`all`, the
    unlabelled attachment score), with Wilson's 95 % interval. Candidates are the other words of the
    same sentence: delimiters, the word itself and, where a sequence holds several sentences, words
    of the others are left out. A root has no head among the words and is not counted; nor is a word
    whose head was cut off.

    High accuracy says that attention goes where the tree goes, not that the model parses, nor that
    it uses the link. Compare with `parser_baseline`: many relations are mostly one fixed distance.
    Its `offset` (−5…+5 words) and `accuracy` are the best on the same data, as in the paper;
    `held_out_accuracy` chooses on one half of the sequences (by a hash of their ids) and tests on
    the other, both ways. `parser_best` does the same for the best head of every relation, whose
    plain accuracy is flattered by having been chosen among all heads.

    `possessive=true` is the paper's rule for Stanford labels: a `poss` (or `nmod:poss`) dependent
    is also found when its 's points to the head. `rows="first"` merges words as their code does.

    Source: Clark et al. 2019, §4.1–4.2, Table 1. Departures: their released code counts punctuation
    and roots in `all`: set `punctuation` for the former; the latter have no word to be found.

    >>> words = torch.tensor([[[[0.1, 0.9], [0.6, 0.4]]]])      # two words that look at each other
    >>> [p.tolist() for p in pointed_words(words, torch.zeros(1, 2))]
    [[[[1, 0]]], [[[1, 0]]]]
    """

    name: ClassVar[str] = "parser"
    needs: ClassVar[frozenset[str]] = frozenset({"words", "dependencies"})
    tables: ClassVar[tuple[str, ...]] = (
        "parser", "parser_baseline", "parser_best", "parser_examples", "parser_arcs",
    )  # fmt: skip

    punctuation: bool = Field(False, description="count punctuation in `all`")
    possessive: bool = Field(False, description="a possessor is also found through its 's")
    rows: Rows = Field("mean", description="row of a split word: mean of its tokens, or the first")

    def applies_to(self, stack: StackLayout) -> bool:
        return stack.stack != "cross"  # queries and keys are different texts

    def look(self, view: View) -> Bundle | Later[Bundle]:
        side = [
            e.target if view.stack == "decoder" and e.target is not None else e
            for e in view.batch.encoded
        ]
        units, _ = units_of(view)
        arcs = view.once(
            "parser/arcs",
            lambda: arcs_of(side, units, punctuation=self.punctuation, possessive=self.possessive),
        )
        if not arcs.n:
            return Bundle({})
        groups = view.once("parser/groups", arcs.groups)
        pointed = _pointed(view, arcs, self.rows)
        both = torch.stack([hits(p, arcs) for p in pointed], dim=1)
        right = (groups.T @ both.flatten(1)).reshape(-1, *both.shape[1:])
        sentences = view.once(
            "parser/sentences", lambda: chosen_sentences(side, units, view.batch.facts)
        )
        table = view.once("parser/table", lambda: groups.cpu().numpy())
        is_first = view.layer == view.first_layer
        make = partial(_value, arcs, table, sentences, is_first)
        return Later(
            (right, *sentences.tensors(pointed, partial(word_map, view, rows=self.rows))), make
        )

    def finish(self, total: Total) -> Result:
        tables: list[Mapping[str, Mapping[str, list[object]]]] = []
        for stack in total.layout.stacks:
            found = ParserTotal.of(total, stack)
            if found is None:
                continue
            best = best_heads(found)
            tables.append(
                {
                    "parser": parser_table(found),
                    "parser_baseline": baseline_table(found),
                    "parser_best": best_table(found, best),
                    "parser_examples": example_table(found, best),
                    "parser_arcs": arc_table(found, best),
                }
            )
        return Result(
            {
                name: {
                    column: [value for table in tables for value in table[name][column]]
                    for column in tables[0][name]
                }
                for name in (self.tables if tables else ())
            }
        )
