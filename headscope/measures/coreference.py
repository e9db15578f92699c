"""Heads that resolve coreference: how often a mention attends to what it refers back to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Final, Literal

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor

from headscope.measures.antecedents import SYSTEMS, anaphors, guess, is_right
from headscope.measures.later import Later
from headscope.measures.measure import MEASURES, LayerMeasure, Total
from headscope.measures.mentions import MentionType
from headscope.models import StackLayout, View
from headscope.models.word_attention import Rows, WordUnits, units_of, word_pattern
from headscope.stats import wilson_interval
from headscope.types import Encoded, Result
from headscope.values import Bundle, Counts, Value

MENTIONS: Final = ("all", *(kind.name.lower() for kind in MentionType))


@dataclass(frozen=True, eq=False)
class Links:
    """The mentions of a batch that have antecedents.

    Link i starts at the unit `mentions[i]` of sequence `rows[i]`; it may go to any unit where
    `candidates[i]` is True and is right where `antecedents[i]` is. `groups[i]` is one-hot over
    `MENTIONS`, `all` included; `baselines[i]` says which of the rule systems are right.
    """

    rows: Int[Tensor, " link"]
    mentions: Int[Tensor, " link"]
    candidates: Bool[Tensor, "link unit"]
    antecedents: Bool[Tensor, "link unit"]
    groups: Float[Tensor, "link mention"]
    baselines: NDArray[np.bool_]

    @property
    def n(self) -> int:
        return len(self.rows)


def links_of(side: Sequence[Encoded], units: WordUnits, candidates: str) -> Links:
    """The links of one side of a batch; sequences without mentions have none."""
    longest = max((len(e.sequence.words or ()) for e in side), default=0)
    unit_of = units.unit_of_word(longest).cpu().numpy()
    is_word = (units.words >= 0).cpu().numpy()
    n_units = is_word.shape[1]
    rows, mentions, kinds = [], [], []
    may, right, systems = [], [], []
    for row, one in enumerate(side):
        text, place = one.sequence, unit_of[row]
        if text.words is None or not text.mentions:
            continue
        for anaphor in anaphors(text):
            mine = place[anaphor.mention.head]
            goals = [u for h in anaphor.antecedents if (u := place[h]) >= 0]
            if mine < 0 or not goals:
                continue
            allowed = is_word[row].copy()
            if candidates == "mentions":
                allowed[:] = False
                allowed[[u for m in anaphor.before if (u := place[m.head]) >= 0]] = True
            allowed[mine] = False
            target = np.zeros(n_units, np.bool_)
            target[goals] = True
            rows.append(row)
            mentions.append(int(mine))
            kinds.append(int(anaphor.mention.type))
            may.append(allowed)
            right.append(target)
            systems.append([is_right(anaphor, guess(system, anaphor)) for system in SYSTEMS])
    device = units.words.device
    groups = np.zeros((len(rows), len(MENTIONS)), np.float32)
    groups[:, 0] = 1.0
    groups[np.arange(len(rows)), 1 + np.array(kinds, np.int64)] = 1.0
    empty = np.zeros((0, n_units), np.bool_)
    return Links(
        rows=torch.tensor(rows, dtype=torch.int64, device=device),
        mentions=torch.tensor(mentions, dtype=torch.int64, device=device),
        candidates=torch.from_numpy(np.stack(may) if may else empty).to(device),
        antecedents=torch.from_numpy(np.stack(right) if right else empty).to(device),
        groups=torch.from_numpy(groups).to(device),
        baselines=np.array(systems, np.bool_).reshape(len(rows), len(SYSTEMS)),
    )


def antecedent_hits(
    rows: Float[Tensor, "link head unit"],
    candidates: Bool[Tensor, "link unit"],
    antecedents: Bool[Tensor, "link unit"],
) -> Float[Tensor, "link head"]:
    """1 where the candidate with the most attention is an antecedent; 0 where none has any.

    >>> rows = torch.tensor([[[0.5, 0.2, 0.3]], [[0.5, 0.3, 0.2]]])      # the mention itself first
    >>> candidates = torch.tensor([[False, True, True]]).expand(2, 3)
    >>> antecedent_hits(rows, candidates, torch.tensor([[False, False, True]]).expand(2, 3))
    tensor([[1.],
            [0.]])
    """
    weight, best = rows.masked_fill(~candidates[:, None], 0.0).max(dim=-1)
    return (antecedents.gather(1, best) & (weight > 0)).to(torch.float32)


@MEASURES.register("coreference")
class Coreference(LayerMeasure):
    """How often the head word of a mention attends most to the head word of an antecedent.

        prediction(m) = argmax over other words j of word[head(m), j]
        accuracy = share of mentions m whose prediction is the head of an earlier mention of the
                   same entity, among those that have one in the sequence

    between words (`word_attention`), for all mentions and per type (`pronoun`, `proper`,
    `nominal`), with Wilson's 95 % interval. Candidates are all other words of the sequence, as in
    the paper; with `candidates="mentions"` only the head words of earlier mentions, an easier task
    and the one that the baselines have. Delimiters and the word itself never count.

    High accuracy says that attention goes back to the right thing, not that the model understood
    the reference: compare `coreference_baseline`, where a rule picks among the earlier gold
    mentions: the nearest, the nearest with the same head word, or the nearest to pass the first of
    four sieves (same words; same head word; number, gender and person match; any). Where a rule
    finds no mention it is wrong. Head words are the corpus's, else the tree's, else by a rule
    (`mentions.head_word`); types are by tag, else by a rule (`mentions.mention_type`).

    Source: Clark et al. 2019, §4.3, Table 2. Documents are cut to the model's length at sentence
    ends, theirs to 128 tokens (`--max-tokens 128`). Departure: their "nearest other mention" is
    read as the nearest earlier one.

    >>> MENTIONS
    ('all', 'pronoun', 'proper', 'nominal')
    """

    name: ClassVar[str] = "coreference"
    needs: ClassVar[frozenset[str]] = frozenset({"words", "mentions"})
    tables: ClassVar[tuple[str, ...]] = ("coreference", "coreference_baseline")

    candidates: Literal["words", "mentions"] = Field(
        "words", description="what a mention may point to: any other word, or earlier mentions"
    )
    rows: Rows = Field("mean", description="row of a split word: mean of its tokens, or the first")

    def applies_to(self, stack: StackLayout) -> bool:
        return stack.stack != "cross"  # queries and keys are different texts

    def look(self, view: View) -> Bundle | Later[Bundle]:
        side = [
            e.target if view.stack == "decoder" and e.target is not None else e
            for e in view.batch.encoded
        ]
        units, _ = units_of(view)
        links = view.once("coreference/links", lambda: links_of(side, units, self.candidates))
        if not links.n:
            return Bundle({})
        rows = word_pattern(view, self.rows)[links.rows, :, links.mentions]
        hits = antecedent_hits(rows, links.candidates, links.antecedents)
        groups = view.once("coreference/groups", lambda: links.groups.cpu().numpy())
        rules = links.baselines if view.layer == view.first_layer else None
        return Later((links.groups.T @ hits,), partial(_counted, groups, rules))

    def finish(self, total: Total) -> Result:
        heads: list[dict[str, Any]] = []
        rules: list[dict[str, Any]] = []
        for place, value in total.of(Bundle):
            if "heads" in value:
                for row in _rows(value.part("heads", Counts)):
                    head = row.pop("column")
                    heads.append({"stack": place.stack, "layer": place.layer, "head": head, **row})
            if "baselines" in value:
                for row in _rows(value.part("baselines", Counts)):
                    system = SYSTEMS[row.pop("column")]
                    rules.append({"stack": place.stack, "system": system, **row})
        return Result(
            {
                name: {column: [row[column] for row in rows] for column in rows[0]}
                for name, rows in zip(self.tables, (heads, rules), strict=True)
                if rows
            }
        )


def _counted(
    groups: NDArray[np.float32], rules: NDArray[Any] | None, right: NDArray[np.float64]
) -> Bundle:
    tried = groups.sum(axis=0).astype(np.float64)
    parts: dict[str, Value] = {"heads": _counts(right, tried)}
    if rules is not None:
        parts["baselines"] = _counts(np.einsum("lg,lr->gr", groups, rules), tried)
    return Bundle(parts)


def _counts(right: NDArray[Any], tried: NDArray[Any]) -> Counts:
    return Counts(right, np.broadcast_to(tried[:, None], right.shape))


def _rows(counts: Counts) -> list[dict[str, Any]]:
    """[mention, column] as rows; types of mentions that never occurred are absent."""
    assert counts.trials is not None
    low, high = wilson_interval(counts.counts, counts.trials)
    return [
        {
            "column": column,
            "mention": MENTIONS[mention],
            "accuracy": float(counts.proportion[mention, column]),
            "ci_low": float(low[mention, column]),
            "ci_high": float(high[mention, column]),
            "n": int(counts.trials[mention, column]),
        }
        for column in range(counts.shape[1])
        for mention in range(len(MENTIONS))
        if counts.trials[mention, column]
    ]
