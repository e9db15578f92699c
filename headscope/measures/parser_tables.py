"""Tables of heads as parsers: accuracies, baselines, best heads, examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from headscope.measures.parser_examples import decoded
from headscope.measures.parser_total import OFFSETS, Best, ParserTotal, best_offset, held_out
from headscope.stats import wilson_interval

DIRECTIONS: Final = ("dependent_to_head", "head_to_dependent")
#: Sentences shown for a relation's best head: so many right, and so many wrong.
N_SHOWN: Final = 3
#: Heads whose attention over one sentence is drawn.
N_DRAWN: Final = 4

Table = dict[str, list[Any]]


def parser_table(found: ParserTotal) -> Table:
    """Every head, direction and relation."""
    columns: dict[str, list[NDArray[Any]]] = {
        name: []
        for name in ("layer", "head", "direction", "relation", "accuracy", "ci_low", "ci_high", "n")
    }
    for layer, relations in enumerate(found.layers):
        for relation in found.relations if relations else ():
            counts = relations[relation]
            assert counts.trials is not None
            right, tried = counts.counts.sum(axis=0), counts.trials.sum(axis=0)
            low, high = wilson_interval(right, tried)
            direction, head = np.indices(right.shape)
            size = right.size
            parts = {
                "layer": np.full(size, layer),
                "head": head.ravel(),
                "direction": np.array(DIRECTIONS)[direction.ravel()],
                "relation": np.full(size, relation, object),
                "accuracy": np.where(tried > 0, right / np.maximum(tried, 1), np.nan).ravel(),
                "ci_low": low.ravel(),
                "ci_high": high.ravel(),
                "n": tried.ravel(),
            }
            for name, part in parts.items():
                columns[name].append(part)
    table = {name: np.concatenate(parts).tolist() for name, parts in columns.items()}
    return {"stack": [found.stack] * len(table["n"]), **table}


def baseline_table(found: ParserTotal) -> Table:
    """The best fixed offset per relation, on the same data and on the held-out half."""
    rows = []
    for relation in found.relations:
        index, right = best_offset(found, relation)
        tried = found.tried(relation)
        low, high = wilson_interval(right, tried.sum())
        rows.append(
            {
                "stack": found.stack,
                "relation": relation,
                "offset": OFFSETS[index],
                "accuracy": _share(right, int(tried.sum())),
                "ci_low": float(low),
                "ci_high": float(high),
                "n": int(tried.sum()),
                "held_out_accuracy": held_out(found.offsets[relation].counts, tried),
            }
        )
    return _columns(rows)


def best_table(found: ParserTotal, best: Mapping[str, Best]) -> Table:
    """Clark's Table 1: the best head per relation beside the best fixed offset."""
    rows = []
    for relation, head in best.items():
        right, tried = found.right(relation), found.tried(relation)
        n, n_right = int(tried.sum()), int(right.sum(axis=0).max())
        index, by_offset = best_offset(found, relation)
        low, high = wilson_interval(n_right, n)
        apart = held_out(right, tried)
        apart_baseline = held_out(found.offsets[relation].counts, tried)
        rows.append(
            {
                "stack": found.stack,
                "relation": relation,
                "layer": head.layer,
                "head": head.head,
                "direction": DIRECTIONS[head.direction],
                "accuracy": _share(n_right, n),
                "ci_low": float(low),
                "ci_high": float(high),
                "n": n,
                "offset": OFFSETS[index],
                "baseline": _share(by_offset, n),
                "margin": _share(n_right - by_offset, n),
                "held_out_accuracy": apart,
                "held_out_baseline": apart_baseline,
                "held_out_margin": apart - apart_baseline,
            }
        )
    return _columns(rows)


def example_table(found: ParserTotal, best: Mapping[str, Best]) -> Table:
    """Sentences in which a relation's best head is right, and in which it is wrong."""
    names = ("relation", "layer", "head", "direction", "correct", "sequence", "sentence",
             "dependent", "gold", "predicted")  # fmt: skip
    rows: list[dict[str, Any]] = []
    shown: dict[tuple[str, bool], int] = {}
    for id_ in next(texts for texts, n in zip(found.predictions, found.n_heads, strict=True) if n):
        sentence = found.sentences[id_]
        words, n = sentence["words"], len(sentence["words"])
        coded = {
            layer: decoded(found.predictions[layer][id_], np.int16, (2, n_heads, n))
            for layer, n_heads in enumerate(found.n_heads)
            if n_heads
        }
        for i, (gold, relation) in enumerate(
            zip(sentence["heads"], sentence["relations"], strict=True)
        ):
            relation = "all (label)" if relation == "all" else relation
            if gold < 0 or relation not in best:
                continue
            head = best[relation]
            predicted = int(coded[head.layer][head.direction, head.head, i])
            key = relation, predicted == gold
            if shown.setdefault(key, 0) == N_SHOWN:
                continue
            shown[key] += 1
            rows.append(
                {
                    "stack": found.stack,
                    "relation": relation,
                    "layer": head.layer,
                    "head": head.head,
                    "direction": DIRECTIONS[head.direction],
                    "correct": predicted == gold,
                    "sequence": id_.rpartition("#")[0],
                    "sentence": " ".join(words),
                    "dependent": words[i],
                    "gold": words[gold],
                    "predicted": words[predicted] if predicted >= 0 else "",
                }
            )
    order = {name: place for place, name in enumerate(found.relations)}
    rows.sort(key=lambda row: (order[row["relation"]], not row["correct"]))
    return _columns(rows, ("stack", *names))


def arc_table(found: ParserTotal, best: Mapping[str, Best]) -> Table:
    """The attention of a few best heads over one sentence, word to word, with its gold arcs.

    The sentence is the one richest in relations; the heads are those with the largest margins over
    their baselines among the relations in it, one panel each.
    """
    names = ("stack", "sequence", "relation", "layer", "head", "direction", "from_position",
             "from_word", "to_position", "to_word", "weight", "gold")  # fmt: skip
    if not found.drawn:
        return _columns([], names)
    id_ = found.drawn[0]
    sentence = found.sentences[id_]
    words, n = sentence["words"], len(sentence["words"])
    margin = {}
    for relation, head in best.items():
        if relation != "all" and relation in sentence["relations"]:
            gain = found.right(relation).sum(axis=0).max() - best_offset(found, relation)[1]
            margin[relation, head] = gain / found.tried(relation).sum()
    panels: dict[Best, str] = {}  # a head once, with its best relation
    for relation, head in sorted(margin, key=lambda key: (-margin[key], key[0])):
        panels.setdefault(head, relation)
    rows = []
    for head, relation in list(panels.items())[:N_DRAWN]:
        shape = (found.n_heads[head.layer], n, n)
        weights = decoded(found.maps[head.layer][id_], np.uint8, shape)[head.head] / 255
        for i, j in np.ndindex(n, n):
            # the arrow of attention starts at the dependent, or ends there
            dependent, other = (i, j) if head.direction == 0 else (j, i)
            rows.append(
                {
                    "stack": found.stack,
                    "sequence": id_.rpartition("#")[0],
                    "relation": relation,
                    "layer": head.layer,
                    "head": head.head,
                    "direction": DIRECTIONS[head.direction],
                    "from_position": i,
                    "from_word": words[i],
                    "to_position": j,
                    "to_word": words[j],
                    "weight": float(weights[i, j]),
                    "gold": sentence["heads"][dependent] == other
                    and sentence["relations"][dependent] == relation,
                }
            )
    return _columns(rows, names)


def _share(right: int, tried: int) -> float:
    return right / tried if tried else float("nan")


def _columns(rows: Sequence[Mapping[str, Any]], names: Sequence[str] = ()) -> Table:
    return {name: [row[name] for row in rows] for name in (names or rows[0])}
