"""What a model's heads do, in three sentences computed from the tables."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, Final

from headscope.figures.atlas.baselines import baselines
from headscope.figures.atlas.head_rows import head_records, number
from headscope.figures.atlas.kinds import Kind, Kinds
from headscope.figures.atlas.run_heads import StackShape
from headscope.figures.registered import RunLike
from headscope.figures.wording import capital, listed, percent, plural
from headscope.types import HeadId

#: Relations named in the summary, and the arcs one must have to be named.
N_RELATIONS: Final = 3
LEAST: Final = 30
#: Kinds whose layers are named.
N_KINDS: Final = 3
THIRDS: Final = ("lower", "middle", "upper")


def summary(run: RunLike, kinds: Kinds | None, shapes: list[StackShape]) -> list[str]:
    """How many heads of which kinds; what they are best at; in which layers. What is known."""
    sentences = []
    if kinds is not None:
        sentences.append(how_many(kinds))
    best = best_relations(run)
    if best:
        sentences.append(best)
    if kinds is not None and len(shapes) == 1:
        where = which_layers(kinds, shapes[0])
        if where:
            sentences.append(where)
    return sentences


def how_many(kinds: Kinds) -> str:
    """The kinds and how many heads each has."""
    n = len(kinds.heads)
    counted = sorted(kinds.kinds, key=lambda kind: -len(kind.heads))
    if kinds.source == "surface":
        return _pointed(kinds, counted, n)
    if not counted:
        return f"None of the {plural(n, 'head')} was found to have a role."
    parts = [f"{len(kind.heads)} {kind.noun}" for kind in counted]
    if len(parts) > 1:
        parts[0] += " heads"
    parts[-1] += " head" if len(counted[-1].heads) == 1 else " heads"
    among = f"Among {plural(n, 'head')} there are {listed(parts)}"
    if kinds.source == "clusters":
        return f"{among}, by the shape of their attention."
    several = sum(sum(head in kind.heads for kind in counted) > 1 for head in kinds.heads)
    rest = [f"{several} {'is' if several == 1 else 'are'} of several kinds"] if several else []
    none = len(kinds.none.heads)
    rest.append(f"{none or 'none'} {'has' if none == 1 else 'have'} no role that could be found")
    return f"{among}; {listed(rest)}."


def _pointed(kinds: Kinds, counted: list[Kind], n: int) -> str:
    if not counted:
        return f"None of the {plural(n, 'head')} puts more than half of its attention on one place."
    parts = [f"{len(kind.heads)} on {_the(kind.label)}" for kind in counted]
    none = len(kinds.none.heads)
    return (
        f"Of {plural(n, 'head')}, {n - none} put more than half of their attention on one place "
        f"({listed(parts)}); {none} {'does' if none == 1 else 'do'} not."
    )


def _the(label: str) -> str:
    """An article where English wants one.

    >>> _the("previous token"), _the("[SEP]"), _the("the token itself"), _the("period or comma")
    ('the previous token', '[SEP]', 'the token itself', 'a period or comma')
    """
    if label.startswith(("[", "the ")):
        return label
    return f"a {label}" if label.startswith("period") else f"the {label}"


def best_relations(run: RunLike) -> str:
    """The relations where a head is furthest above the best fixed offset."""
    if "parser" not in run.tables:
        return ""
    baseline = baselines(run)
    best: dict[str, tuple[float, HeadId, float, dict[str, Any]]] = {}
    for head, row in head_records(run.table("parser")):
        relation, accuracy = row["relation"], number(row["accuracy"])
        base = baseline.get((head.stack, relation), 0.0)
        margin = accuracy - base
        if relation == "all" or row["n"] < LEAST or math.isnan(margin):
            continue
        if relation not in best or margin > best[relation][0]:
            best[relation] = margin, head, base, row
    above = sorted((b for b in best.values() if b[0] > 0), key=lambda b: -b[0])[:N_RELATIONS]
    if not above:
        return "No head finds a syntactic relation better than a fixed offset." if best else ""
    parts = []
    for _, head, base, row in above:
        text = f"{head} for {row['relation']} ({percent(row['accuracy'])}"
        against = f", fixed offset {percent(base)}" if baseline else ""
        parts.append(f"{text}{against})")
    return f"The heads that know most syntax beyond a fixed offset are {listed(parts)}."


def which_layers(kinds: Kinds, shape: StackShape) -> str:
    """For the largest kinds, the third of the layers that has more than half of them."""
    if shape.n_layers < 3:
        return ""
    counted = sorted((k for k in kinds.kinds if len(k.heads) > 1), key=lambda k: -len(k.heads))
    settled: list[str] = []
    spread: list[str] = []
    for kind in counted[:N_KINDS]:
        where = _where(kind, shape)
        if where:
            verb = "" if settled else "sit mostly "
            settled.append(f"{kind.noun} heads {verb}in {where}")
        else:
            spread.append(kind.noun)
    if spread:
        settled.append(f"{listed(spread)} heads are spread over all layers")
    return f"{capital(listed(settled))}." if settled else ""


def _where(kind: Kind, shape: StackShape) -> str:
    """The third of the layers with more than half of these heads, empty if there is none."""
    per_layer = kind.per_layer(shape.stack, shape.n_layers)
    ends = [round(shape.n_layers * i / 3) for i in range(4)]
    counts = [sum(per_layer[a:b]) for a, b in pairwise(ends)]
    most = max(range(3), key=lambda i: counts[i])
    if counts[most] * 2 <= sum(counts):
        return ""
    first, last = ends[most] + 1, ends[most + 1]
    where = f"layer {first}" if first == last else f"layers {first}–{last}"
    return f"the {THIRDS[most]} layers ({counts[most]} of {sum(counts)} in {where})"
