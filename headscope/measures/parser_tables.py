"""Tables of heads as parsers: accuracies, baselines, best heads, examples."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from headscope.measures.measure import Place, Total
from headscope.measures.parser_examples import decoded
from headscope.models import StackLayout
from headscope.stats import wilson_interval
from headscope.types import Stack
from headscope.values import Bundle, Counts, Reservoir, TopK

DIRECTIONS: Final = ("dependent_to_head", "head_to_dependent")
OFFSETS: Final = tuple(offset for offset in range(-5, 6) if offset != 0)
#: Sentences shown for a relation's best head: so many right, and so many wrong.
N_SHOWN: Final = 3
#: Heads whose attention over one sentence is drawn.
N_DRAWN: Final = 4

Table = dict[str, list[Any]]


class Best(NamedTuple):
    """The head that is right most often at a relation, and in which direction."""

    layer: int
    head: int
    direction: int


@dataclass(frozen=True)
class ParserTotal:
    """The sums of one stack. Every Counts of `layers` is [half, direction, head].

    Layers that nobody looked at are empty in `layers`, `predictions` and `maps`.
    """

    stack: Stack
    n_heads: tuple[int, ...]
    layers: Sequence[Mapping[str, Counts]]
    offsets: Mapping[str, Counts]
    sentences: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    predictions: Sequence[Mapping[str, str]] = ()
    drawn: Sequence[str] = ()
    maps: Sequence[Mapping[str, str]] = ()

    @classmethod
    def of(cls, total: Total, stack: StackLayout) -> ParserTotal | None:
        """The values of a stack, relation by relation; None where it saw no arc."""
        found = {layer: total.values.get(Place(stack.stack, layer)) for layer in stack.seen}
        known = {n: v for n, v in found.items() if isinstance(v, Bundle) and len(v)}
        if len(known) < len(found) or not known:
            return None
        first = known[stack.seen[0]]
        texts = first.part("sentences", Bundle)
        sampled, drawn = texts.part("sampled", Reservoir), texts.part("drawn", TopK)
        return cls(
            stack=stack.stack,
            n_heads=stack.n_heads,
            layers=[
                _by_relation(known[n].part("heads", Bundle)) if n in known else {}
                for n in range(stack.n_layers)
            ],
            offsets=_by_relation(first.part("offsets", Bundle)),
            sentences={e.id: json.loads(e.text) for e in (*sampled.examples, *drawn.examples)},
            predictions=[
                _texts(known.get(n), "predictions", Reservoir) for n in range(stack.n_layers)
            ],
            drawn=[e.id for e in drawn.examples],
            maps=[_texts(known.get(n), "maps", TopK) for n in range(stack.n_layers)],
        )

    @property
    def relations(self) -> list[str]:
        """`all`, then the relations by how often they occur."""
        support = {name: int(counts.trials.sum()) for name, counts in self.offsets.items()
                   if counts.trials is not None}  # fmt: skip
        return ["all", *sorted(support.keys() - {"all"}, key=lambda name: (-support[name], name))]

    def right(self, relation: str) -> NDArray[np.int64]:
        """[half, layer · direction · head], in that order: how often each head was right."""
        return np.concatenate(
            [layer[relation].counts.reshape(2, -1) for layer in self.layers if layer], axis=1
        )

    def tried(self, relation: str) -> NDArray[np.int64]:
        """[half]: how many arcs there were."""
        trials = self.offsets[relation].trials
        assert trials is not None
        return trials[:, 0]

    def best(self, flat: int) -> Best:
        """The head behind a column of `right`."""
        for layer, n_heads in enumerate(self.n_heads):
            if flat < 2 * n_heads:
                return Best(layer, flat % n_heads, flat // n_heads)
            flat -= 2 * n_heads
        raise IndexError(flat)


def _texts(value: Bundle | None, name: str, kind: type[Reservoir] | type[TopK]) -> dict[str, str]:
    return {} if value is None else {e.id: e.text for e in value.part(name, kind).examples}


def _by_relation(part: Bundle) -> dict[str, Counts]:
    relations = part.part("relations", Bundle)
    named: dict[str, Counts] = {name: relations.part(name, Counts) for name in relations}
    # a corpus that calls a relation `all` keeps it apart from the score over all words
    if "all" in named:
        named["all (label)"] = named.pop("all")
    return {**named, "all": part.part("all", Counts)}


def held_out(right: NDArray[np.int64], tried: NDArray[np.int64]) -> float:
    """Accuracy of the column that is best on one half, on the other half; both ways, pooled.

    >>> held_out(np.array([[3, 1], [0, 2]]), np.array([4, 4]))      # column 0, then column 1
    0.125
    """
    if not tried.all():
        return float("nan")
    first, second = right[0].argmax(), right[1].argmax()
    return float((right[1, first] + right[0, second]) / tried.sum())


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


def _baseline(found: ParserTotal, relation: str) -> tuple[int, int]:
    """The index of the best fixed offset and how often it is right."""
    right = found.offsets[relation].counts.sum(axis=0)
    # among equals the nearest, the right neighbour before the left one
    order = sorted(range(len(OFFSETS)), key=lambda i: (-right[i], abs(OFFSETS[i]), -OFFSETS[i]))
    return order[0], int(right[order[0]])


def baseline_table(found: ParserTotal) -> Table:
    """The best fixed offset per relation, on the same data and on the held-out half."""
    rows = []
    for relation in found.relations:
        index, right = _baseline(found, relation)
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


def best_heads(found: ParserTotal) -> dict[str, Best]:
    """Per relation the head and direction with the highest accuracy; the first of equals."""
    return {
        relation: found.best(int(found.right(relation).sum(axis=0).argmax()))
        for relation in found.relations
        if found.tried(relation).sum()
    }


def best_table(found: ParserTotal, best: Mapping[str, Best]) -> Table:
    """Clark's Table 1: the best head per relation beside the best fixed offset."""
    rows = []
    for relation, head in best.items():
        right, tried = found.right(relation), found.tried(relation)
        n, n_right = int(tried.sum()), int(right.sum(axis=0).max())
        index, by_offset = _baseline(found, relation)
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
            gain = found.right(relation).sum(axis=0).max() - _baseline(found, relation)[1]
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
