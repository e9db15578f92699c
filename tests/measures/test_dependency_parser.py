"""Heads as parsers against loops written from the definitions, and planted heads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from headscope.engine import Settings
from headscope.engine.shard import add, run_shard
from headscope.measures import Total, build
from headscope.measures.parse_arcs import half_of
from headscope.measures.parser_total import OFFSETS
from headscope.models import Tap, View, collate
from headscope.stats import wilson_interval
from headscope.types import Dependencies, Encoded, Result
from headscope.values import pack, unpack
from tests.planted import (
    CAUSAL_HEADS,
    HEADS,
    encode_planted,
    encode_planted_causal,
    expected_causal_pattern,
    expected_pattern,
    planted,
    planted_causal,
)


def tree(*arcs: tuple[int, str]) -> Dependencies:
    """Heads from 1 as in a treebank, 0 for the root."""
    return Dependencies(tuple(h - 1 for h, _ in arcs), tuple(r for _, r in arcs))


#: the big dog played on a mat .      she saw it .
DOG = tree((3, "det"), (3, "amod"), (4, "nsubj"), (0, "root"), (7, "case"), (7, "det"),
           (4, "obl"), (4, "punct"))  # fmt: skip
SHE = tree((2, "nsubj"), (0, "root"), (2, "obj"), (2, "punct"))


def sentences() -> list[Encoded]:
    dog = encode_planted("the big dog played on a mat.", name="dog", dependencies=DOG)
    she = encode_planted("she saw it.", name="she", dependencies=SHE)
    bare = encode_planted("the cat ran.", name="bare")
    two = encode_planted(
        "the big dog played on a mat. she saw it.",
        name="two",
        sentences=(0, 8),
        dependencies=Dependencies(
            (*DOG.heads, *(h + 8 if h >= 0 else h for h in SHE.heads)),
            DOG.relations + SHE.relations,
        ),
    )
    lost = encode_planted("she saw a red cat", name="lost", dependencies=Dependencies(
        (1, -1, -2, 4, 1), ("nsubj", "root", "det", "amod", "obj")))  # fmt: skip
    return [dog, she, bare, two, lost]


def measured(encoded: Sequence[Encoded], model: Any = None, **parameters: object) -> Result:
    model = model or planted()
    measure = build("parser", parameters)
    values = run_shard(model, [measure], encoded, Settings(batch_tokens=64))
    return measure.finish(Total(model.layout, {place: v for (_, place), v in values.items()}))


def naive(
    maps: Sequence[Any], encoded: Sequence[Encoded], *, punctuation: bool = False
) -> tuple[Counter[tuple[int, str, str]], Counter[str]]:
    """Loops over heads, words and candidates: how often right, out of how many."""
    right: Counter[tuple[int, str, str]] = Counter()
    tried: Counter[str] = Counter()
    for pattern, one in zip(maps, encoded, strict=True):
        text = one.sequence
        if text.dependencies is None:
            continue
        assert text.words is not None
        n = len(text.words)
        tokens = [[t for t in range(one.n_tokens) if one.words[t] == w] for w in range(n)]
        starts = text.sentences or (0,)
        number = [max(i for i, s in enumerate(starts) if s <= w) for w in range(n)]
        for word, (gold, relation) in enumerate(
            zip(text.dependencies.heads, text.dependencies.relations, strict=True)
        ):
            if gold < 0:
                continue
            names = [relation] + ["all"] * (punctuation or relation != "punct")
            tried.update(names)
            others = [w for w in range(n) if w != word and number[w] == number[word]]
            for head in range(len(pattern)):

                def weight(a: int, b: int, head: int = head, pattern: Any = pattern,
                           tokens: Any = tokens) -> float:  # fmt: skip
                    total = sum(pattern[head][q][k] for q in tokens[a] for k in tokens[b])
                    return float(total) / len(tokens[a])

                forth = max(others, key=lambda w: (weight(word, w), -w))
                back = max(others, key=lambda w: (weight(w, word), -w))
                for name in names:
                    if forth == gold and weight(word, forth) > 0:
                        right[head, "dependent_to_head", name] += 1
                    if back == gold and weight(back, word) > 0:
                        right[head, "head_to_dependent", name] += 1
    return right, tried


def rows(result: Result, table: str) -> list[dict[str, Any]]:
    columns = result.tables[table]
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def test_planted_maps_agree_with_the_loop() -> None:
    encoded = sentences()
    right, tried = naive([expected_pattern(one) for one in encoded], encoded)
    table = rows(measured(encoded), "parser")
    assert len(table) == 2 * len(HEADS) * 2 * len(tried)
    # A first word has no previous word and a last one no next: there these heads have nothing to
    # point to but words with weights of e^-30. No dependent of these relations stands there.
    inner = {"det", "amod", "nsubj", "case", "obl"}
    clear = {("next", "dependent_to_head"), ("previous", "head_to_dependent")}
    for row in table:
        n = tried[row["relation"]]
        assert row["n"] == n
        if row["relation"] in inner and (HEADS[row["head"]], row["direction"]) in clear:
            hits = right[row["head"], row["direction"], row["relation"]]
            assert row["accuracy"] == pytest.approx(hits / n)
            low, high = wilson_interval(hits, n)
            assert (row["ci_low"], row["ci_high"]) == pytest.approx((float(low), float(high)))
    # by hand: the → dog stands two words away, a → mat next to it; DOG's words occur twice
    found = {(r["head"], r["direction"], r["relation"]): r for r in table if r["layer"] == 0}
    assert found[2, "dependent_to_head", "det"]["n"] == 4
    assert found[2, "dependent_to_head", "det"]["accuracy"] == 0.5
    assert found[1, "head_to_dependent", "amod"]["accuracy"] == 1.0  # dog attends to big


def test_real_maps_agree_with_the_loop() -> None:
    """A random model has no ties, so every head must agree."""
    from transformers import BertConfig, BertModel

    from headscope.models import load
    from tests.planted import planted_tokenizer

    torch.manual_seed(3)
    config = BertConfig(
        vocab_size=40,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=8,
        max_position_embeddings=40,
        initializer_range=0.8,
    )
    model = load(BertModel(config).eval(), planted_tokenizer())
    encoded = sentences()
    batch = collate(encoded, pad_id=model.pad_id)
    layers: list[Any] = []

    def observer(view: View) -> None:
        layers.append(view.pattern.double().numpy())

    with torch.inference_mode(), Tap(model.model, observer=observer) as tap:
        tap.forward(batch)
    for punctuation in (False, True):
        table = rows(measured(encoded, model, punctuation=punctuation), "parser")
        for layer, maps in enumerate(layers):
            right, tried = naive(list(maps), encoded, punctuation=punctuation)
            for row in table:
                if row["layer"] == layer:
                    hits = right[row["head"], row["direction"], row["relation"]]
                    assert row["n"] == tried[row["relation"]]
                    assert row["accuracy"] == pytest.approx(hits / row["n"]), row


def test_fixed_offsets_by_hand() -> None:
    table = {row["relation"]: row for row in rows(measured(sentences()), "parser_baseline")}
    # det: the→dog +2, a→mat +1, in two sequences: both offsets are right in half; +1 is nearer
    assert (table["det"]["offset"], table["det"]["accuracy"], table["det"]["n"]) == (1, 0.5, 4)
    # obj: saw ← it −1 twice, saw ← cat −3 once
    assert table["obj"]["offset"] == -1
    assert table["obj"]["accuracy"] == pytest.approx(2 / 3)
    arcs = [
        (h - w, r)
        for one in sentences()
        if (t := one.sequence.dependencies)
        for w, (h, r) in enumerate(zip(t.heads, t.relations, strict=True))
        if h >= 0 and r != "punct"
    ]
    best = max(Counter(o for o, _ in arcs if o in OFFSETS).values())
    assert table["all"]["accuracy"] == pytest.approx(best / len(arcs))


def test_held_out_choice_is_made_on_the_other_half() -> None:
    encoded = []
    for i in range(24):
        half = half_of(f"h{i}")
        arcs = tree((2, "obj"), (0, "root"), (2, "x")) if half else tree((3, "obj"), (0, "root"), (2, "x"))  # fmt: skip  # noqa: E501
        encoded.append(encode_planted("she saw it", name=f"h{i}", dependencies=arcs))
    halves = Counter(half_of(f"h{i}") for i in range(24))
    row = next(r for r in rows(measured(encoded), "parser_baseline") if r["relation"] == "obj")
    assert row["accuracy"] == max(halves.values()) / 24
    assert row["held_out_accuracy"] == 0.0  # what is best on one half is never right on the other


def test_possessor_is_found_through_its_clitic() -> None:
    arcs = tree((3, "poss"), (1, "possessive"), (0, "root"))
    one = encode_planted("dog ' mat", name="p", dependencies=arcs)
    for possessive, expected in ((False, 0.0), (True, 1.0)):
        table = rows(measured([one], possessive=possessive), "parser")
        found = {
            r["head"]: r["accuracy"]
            for r in table
            if (r["layer"], r["direction"], r["relation"]) == (0, "dependent_to_head", "poss")
        }
        assert found[HEADS.index("next")] == expected
        base = rows(measured([one], possessive=possessive), "parser_baseline")
        assert next(r for r in base if r["relation"] == "poss")["accuracy"] == 1.0


def test_shards_with_other_relations_merge_and_survive_a_checkpoint() -> None:
    encoded = sentences()
    model, measure = planted(), build("parser")
    whole = run_shard(model, [measure], encoded, Settings())
    parts: dict[Any, Any] = {}
    for one in encoded:
        values = run_shard(model, [measure], [one], Settings())
        names = [f"{place.stack}/{place.layer}" for _, place in values]
        again = unpack(*pack(dict(zip(names, values.values(), strict=True))))
        add(parts, dict(zip(values, again.values(), strict=True)))
    tables = []
    for values in (whole, parts):
        total = Total(model.layout, {place: v for (_, place), v in values.items()})
        tables.append(measure.finish(total).tables)
    assert repr(tables[0]) == repr(tables[1])  # NaN is NaN


def test_causal_head_that_sees_nothing_predicts_nothing() -> None:
    encoded = [encode_planted_causal("she saw it .", name="c", dependencies=SHE)]
    model = planted_causal()
    right, _ = naive([expected_causal_pattern(encoded[0], 0)], encoded)
    table = rows(measured(encoded, model), "parser")
    previous = CAUSAL_HEADS[0].index("previous")
    for row in table:
        if row["layer"] == 0 and row["head"] == previous:
            hits = right[previous, row["direction"], row["relation"]]
            assert row["accuracy"] == pytest.approx(hits / row["n"])
    nsubj = next(r for r in table if (r["layer"], r["head"], r["direction"], r["relation"]) ==
                 (0, previous, "dependent_to_head", "nsubj"))  # fmt: skip
    assert nsubj["accuracy"] == 0.0  # the first word sees only itself and <bos>


def test_examples_show_the_best_heads_predictions() -> None:
    result = measured(sentences())
    best = {row["relation"]: row for row in rows(result, "parser_best")}
    examples = rows(result, "parser_examples")
    assert {row["relation"] for row in examples} <= set(best)
    for row in examples:
        assert row["correct"] == (row["predicted"] == row["gold"])
        assert row["dependent"] in row["sentence"].split()
        assert (row["layer"], row["head"]) == (best[row["relation"]]["layer"],
                                               best[row["relation"]]["head"])  # fmt: skip
    amod = [row for row in examples if row["relation"] == "amod"]
    assert any(r["correct"] and (r["dependent"], r["gold"]) == ("big", "dog") for r in amod)


def test_drawn_arcs_hold_the_heads_attention() -> None:
    result = measured(sentences())
    arcs = rows(result, "parser_arcs")
    assert {row["sequence"] for row in arcs} <= {"dog", "two"}
    words = DOG.relations
    for row in arcs:
        pattern = expected_pattern(sentences()[0])[row["head"]]
        tokens = sentences()[0].words
        q, k = (np.flatnonzero(tokens == row[p]) for p in ("from_position", "to_position"))
        assert row["weight"] == pytest.approx(pattern[np.ix_(q, k)].sum() / len(q), abs=0.003)
        if row["gold"]:
            end = "from_position" if row["direction"] == "dependent_to_head" else "to_position"
            assert words[row[end]] == row["relation"]


def test_a_label_named_all_stays_apart() -> None:
    one = encode_planted(
        "she saw it", name="a", dependencies=tree((2, "all"), (0, "root"), (2, "x"))
    )
    relations = {row["relation"]: row["n"] for row in rows(measured([one]), "parser_baseline")}
    assert relations == {"all": 2, "all (label)": 1, "x": 1}


def test_no_tree_at_all_gives_no_table() -> None:
    bare = [replace(one) for one in sentences() if one.sequence.dependencies is None]
    assert measured(bare).tables == {}
