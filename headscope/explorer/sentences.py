"""Sentences where a head does something: from the run's examples and its scores per sequence.

Two tables speak of single sentences. `parser_examples` has those in which the best head of a
relation finds, or misses, the right word. `sieve_scores` has a head's score for every role in every
kept sequence; the highest ones are where the head plays the role most. The run holds the ids of
sequences, not their text: the text comes from the corpus if it is at hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow.compute as pc

from headscope.figures.atlas.plain_text import plain_text
from headscope.figures.role_names import looks
from headscope.store import Run
from headscope.types import HeadId, Sequence

_LONGEST = 1000


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a head can be asked for, and how many sentences there are."""

    key: str
    label: str
    n: int

    def to_dict(self) -> dict[str, Any]:
        return {"key": self.key, "label": plain_text(self.label, 120), "n": self.n}


def wanted_of(run: Run, head: HeadId) -> list[Wanted]:
    """Everything this head has sentences for: relations it is best at, then roles by mean score."""
    found: list[Wanted] = []
    if "parser_examples" in run.tables:
        rows = _of_head(run.table("parser_examples"), head).to_pylist()
        for relation in dict.fromkeys(row["relation"] for row in rows):
            n = sum(row["relation"] == relation for row in rows)
            found.append(Wanted(f"relation:{relation}", f"finds {relation}", n))
    if "sieve_scores" in run.tables:
        table = _of_head(run.table("sieve_scores"), head)
        by_role: dict[str, list[float]] = {}
        for role, score in zip(table["role"].to_pylist(), table["score"].to_pylist(), strict=True):
            if score is not None and score == score:
                by_role.setdefault(role, []).append(score)
        label = {look.name: look.label for look in looks(set(by_role))}
        for role in sorted(by_role, key=lambda r: -sum(by_role[r]) / len(by_role[r])):
            found.append(
                Wanted(f"role:{role}", f"role: {label.get(role, role)}", len(by_role[role]))
            )
    return found


def sentences_of(
    run: Run, head: HeadId, key: str, most: int, texts: Mapping[str, Sequence]
) -> list[dict[str, Any]]:
    """The sentences for one key of `wanted_of`, best first."""
    kind, _, name = key.partition(":")
    if kind == "relation" and "parser_examples" in run.tables:
        return _relation(run, head, name, texts)[:most]
    if kind == "role" and "sieve_scores" in run.tables:
        return _role(run, head, name, most, texts)
    return []


def _relation(
    run: Run, head: HeadId, name: str, texts: Mapping[str, Sequence]
) -> list[dict[str, Any]]:
    rows = [r for r in _of_head(run.table("parser_examples"), head).to_pylist()
            if r["relation"] == name]  # fmt: skip
    rows.sort(key=lambda row: not row["correct"])
    found = []
    for row in rows:
        pointed = row["predicted"] or "nothing"
        said = f"{row['dependent']} → {row['gold']}"
        said += " ✓" if row["correct"] else f" ✗ points to {pointed}"
        told = {**_text(row["sequence"], texts), "what": plain_text(said, 200)}
        told["text"] = plain_text(row["sentence"], _LONGEST)
        told["pair"] = None
        found.append({**told, "right": bool(row["correct"])})
    return found


def _role(
    run: Run, head: HeadId, name: str, most: int, texts: Mapping[str, Sequence]
) -> list[dict[str, Any]]:
    table = _of_head(run.table("sieve_scores"), head)
    table = table.filter(pc.equal(table["role"], name))
    rows = [r for r in table.to_pylist() if r["score"] is not None and r["score"] == r["score"]]
    rows.sort(key=lambda row: (-row["score"], row["sequence"]))
    return [
        {
            **_text(row["sequence"], texts),
            "score": row["score"],
            "what": f"{row['score']:.1f} × an even share",
        }
        for row in rows[:most]
    ]


def _of_head(table: Any, head: HeadId) -> Any:
    same = pc.and_(pc.equal(table["layer"], head.layer), pc.equal(table["head"], head.head))
    if "stack" in table.column_names:
        same = pc.and_(same, pc.equal(table["stack"], head.stack))
    return table.filter(same)


def _text(sequence: str, texts: Mapping[str, Sequence]) -> dict[str, Any]:
    known = texts.get(sequence)
    return {
        "sequence": plain_text(sequence, 200),
        "text": None if known is None else plain_text(known.text, _LONGEST),
        "pair": None if known is None or not known.pair else plain_text(known.pair, _LONGEST),
    }
