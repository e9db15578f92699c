"""The 21 distance features: against a loop written from the definition, and on planted heads."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import torch

from headscope.engine import Settings
from headscope.engine.shard import run_shard
from headscope.measures import Total
from headscope.measures.distance_features import (
    FEATURES,
    DistanceFeatures,
    distance_features,
    feature_weights,
    part_of,
)
from headscope.models import collate
from headscope.types import Encoded, Result, TokenKind
from tests.planted import (
    HEADS,
    encode_planted,
    encode_planted_causal,
    expected_pattern,
    planted,
    planted_causal,
)

TEXTS = [
    ("The cat sat on the mat, and the dog ran.", None),
    ("She saw her cat.", "It ate the bird, not the mouse."),
    ("Who?", None),
    ("The old red bird sat under the big tree, and the small mouse ran on and on and on.", None),
    ("A dog", "a cat"),
]


def by_loop(pattern: np.ndarray, kinds: np.ndarray) -> np.ndarray:
    """The definition, one weight at a time, window borders as exact fractions."""
    n = len(kinds)
    named = {1: "cls", 2: "sep", 3: "period", 4: "comma"}
    found = dict.fromkeys(FEATURES, 0.0)
    for query in range(n):
        for key in range(n):
            if int(kinds[key]) in named:
                feature = named[int(kinds[key])]
            elif query == key:
                feature = "self"
            else:
                distance = abs(query - key)
                (window,) = [
                    i
                    for i in range(16)
                    if Fraction(i * n, 16) < distance <= Fraction((i + 1) * n, 16)
                ]
                feature = f"w{window:02}"
            found[feature] += pattern[query, key] / n
    return np.array([found[f] for f in FEATURES])


def encoded() -> list[Encoded]:
    return [encode_planted(a, b, name=f"s{i}") for i, (a, b) in enumerate(TEXTS)]


def finished(sequences: list[Encoded], **parameters: int) -> Result:
    model, measure = planted(), DistanceFeatures(**parameters)
    values = run_shard(model, [measure], sequences, Settings())
    return measure.finish(Total(model.layout, {place: v for (_, place), v in values.items()}))


def test_agrees_with_a_naive_loop_and_adds_up_to_one() -> None:
    sequences = encoded()
    batch = collate(sequences)
    torch.manual_seed(3)
    n = batch.source.real.shape[1]
    logits = torch.randn(len(sequences), 3, n, n) * 2
    logits = logits.masked_fill(~batch.source.real[:, None, None, :], -torch.inf)
    pattern = logits.softmax(dim=-1)
    found = distance_features(pattern, feature_weights(batch.source))
    assert torch.allclose(found.sum(dim=-1), torch.ones(len(sequences), 3), atol=1e-6)
    for i, one in enumerate(sequences):
        for head in range(3):
            cropped = pattern[i, head, : one.n_tokens, : one.n_tokens].double().numpy()
            assert found[i, head].numpy() == pytest.approx(by_loop(cropped, one.kinds), abs=1e-6)


def test_planted_heads_have_the_features_of_their_maps() -> None:
    sequences = encoded()
    table = finished(sequences).tables["distance"]
    expected = np.mean(
        [[by_loop(head, one.kinds) for head in expected_pattern(one)] for one in sequences], axis=0
    )
    for layer in range(2):
        for head, name in enumerate(HEADS):
            rows = (table["layer"] == layer) & (table["head"] == head)
            assert tuple(table["feature"][rows]) == FEATURES
            assert table["mean"][rows] == pytest.approx(expected[head], abs=1e-6), name
            assert table["mean"][rows].sum() == pytest.approx(1.0, abs=1e-6)
    cls_head = (table["head"] == HEADS.index("cls")) & (table["feature"] == "cls")
    assert table["mean"][cls_head] == pytest.approx(1.0, abs=1e-6)


def test_parts_share_out_the_corpus_and_add_up_to_the_whole() -> None:
    sequences = encoded()
    result = finished(sequences, n_parts=4)
    parts, sizes = result.arrays["distance_parts"], result.arrays["distance_part_sizes"]
    assert parts.shape == (4, 2 * len(HEADS), len(FEATURES))
    members = [[s for s in sequences if part_of(s.sequence.id, 4) == p] for p in range(4)]
    assert sizes.tolist() == [len(m) for m in members]
    mean = parts.sum(axis=0) / sizes.sum()
    assert mean.ravel() == pytest.approx(np.asarray(result.tables["distance"]["mean"]), abs=1e-9)
    for part, own in enumerate(members):
        if own:
            alone = np.asarray(finished(own, n_parts=4).arrays["distance_parts"])
            assert alone[part] == pytest.approx(parts[part], abs=1e-5)


def test_one_batch_and_many_give_the_same_numbers() -> None:
    sequences, model, measure = encoded(), planted(), DistanceFeatures()
    together = run_shard(model, [measure], sequences, Settings())
    apart = run_shard(model, [measure], sequences, Settings(batch_tokens=1))
    for key, value in together.items():
        a, b = value.part("all", object), apart[key].part("all", object)  # type: ignore[attr-defined]
        assert a.mean == pytest.approx(b.mean, abs=1e-6)
        assert a.n.tolist() == b.n.tolist()


def test_a_model_without_delimiters_has_no_rows_for_them() -> None:
    model, measure = planted_causal(), DistanceFeatures()
    sequences = [encode_planted_causal("the cat sat on the mat", name="c")]
    values = run_shard(model, [measure], sequences, Settings())
    total = Total(model.layout, {place: v for (_, place), v in values.items()})
    table = measure.finish(total).tables["distance"]
    assert set(table["feature"]) == set(FEATURES) - {"cls", "sep", "comma", "period"}
    first = (table["layer"] == 0) & (table["head"] == 0)
    assert table["mean"][first].sum() == pytest.approx(1.0, abs=1e-6)
    assert all(math.isnan(x) for x in table["ci_low"])  # one sequence has no interval


def test_cross_attention_has_no_distance() -> None:
    from headscope.models import StackLayout

    assert not DistanceFeatures().applies_to(StackLayout("cross", (4,), False))
    assert DistanceFeatures().applies_to(StackLayout("decoder", (4,), True))
    assert TokenKind.CLS == 1  # the loop above spells the kinds out
