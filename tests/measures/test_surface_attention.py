"""Surface attention: planted heads by hand, naive loops, other families."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from transformers import T5Config, T5Model

from headscope.measures import build
from headscope.models import LoadedModel, Tap, collate, load
from headscope.types import Encoded
from tests.planted import (
    HEADS,
    encode_planted,
    encode_planted_causal,
    expected_causal_pattern,
    expected_pattern,
    planted_causal,
)
from tests.reference.naive_surface import naive_surface

SURFACE = build("surface")
HEAD = {name: i for i, name in enumerate(HEADS)}

# [CLS] the cat sat . [SEP]  and  [CLS] a dog saw a mouse , [SEP] it ran . [SEP]
SENTENCES = [
    encode_planted("the cat sat.", name="one"),
    encode_planted("a dog saw a mouse,", "it ran.", name="two"),
]


def test_planted_heads_by_hand(planted_bert: LoadedModel, measured: Callable[..., Any]) -> None:
    rows = measured(planted_bert, SURFACE, SENTENCES, "target")
    n1, n2 = 6, 12

    def mean(head: str, target: str) -> float:
        return float(rows[0, HEAD[head], target]["mean"])

    assert [e.n_tokens for e in SENTENCES] == [n1, n2]
    assert mean("self", "self") == pytest.approx(1)
    # the first token has no previous one and looks at itself: n - 1 of n rows
    assert mean("previous", "prev") == pytest.approx(((n1 - 1) / n1 + (n2 - 1) / n2) / 2)
    assert mean("previous", "self") == pytest.approx((1 / n1 + 1 / n2) / 2)
    assert mean("next", "next") == pytest.approx(((n1 - 1) / n1 + (n2 - 1) / n2) / 2)
    assert mean("cls", "cls") == pytest.approx(1)
    assert mean("cls", "sep") == pytest.approx(0, abs=1e-7)
    assert mean("sep", "sep") == pytest.approx(1)
    assert mean("sep", "sep_from_sep") == pytest.approx(1)
    assert mean("sep", "sep_from_other") == pytest.approx(1)
    # everywhere: one period of 6 tokens; one comma and one period of 12
    assert mean("everywhere", "punct") == pytest.approx((1 / n1 + 2 / n2) / 2)
    assert mean("everywhere", "other") == pytest.approx((3 / n1 + 7 / n2) / 2)
    assert mean("everywhere", "sep") == pytest.approx((1 / n1 + 2 / n2) / 2)
    assert rows[0, 0, "self"]["n"] == 2


def test_bidirectional_models_have_no_first_token_target(
    planted_bert: LoadedModel, measured: Callable[..., Any]
) -> None:
    rows = measured(planted_bert, SURFACE, SENTENCES, "target")
    assert {target for _, _, target in rows}.isdisjoint({"first"})


def test_a_target_a_sequence_lacks_is_no_data(
    planted_bert: LoadedModel, measured: Callable[..., Any]
) -> None:
    without = encode_planted("the cat sat", name="no punctuation")
    rows = measured(planted_bert, SURFACE, [without, SENTENCES[0]], "target")
    assert rows[0, HEAD["everywhere"], "punct"]["n"] == 1
    assert rows[0, HEAD["everywhere"], "punct"]["mean"] == pytest.approx(1 / 6)
    alone = measured(planted_bert, SURFACE, [without], "target")
    assert "punct" not in {target for _, _, target in alone}


def test_causal_sink(measured: Callable[..., Any]) -> None:
    model = planted_causal()
    encoded = [encode_planted_causal("the cat saw the cat", name="loop")]
    rows = measured(model, SURFACE, encoded, "target")
    assert rows[0, 0, "first"]["mean"] == pytest.approx(1)
    # everywhere it may see: 1/1, 1/2 … 1/6 on the first token
    assert rows[0, 3, "first"]["mean"] == pytest.approx(sum(1 / k for k in range(1, 7)) / 6)
    assert {t for _, _, t in rows} == {"self", "prev", "next", "first", "other"}
    for head in range(4):
        expected = naive_surface(encoded[0], expected_causal_pattern(encoded[0], 1)[head], True)
        for target in ("self", "prev", "first", "other"):
            assert rows[1, head, target]["mean"] == pytest.approx(expected[target], abs=1e-6)


def test_equals_the_naive_loop_on_any_map(
    planted_bert: LoadedModel, measured: Callable[..., Any]
) -> None:
    """Random weights in the planted architecture: maps that no head was planted to have."""
    torch.manual_seed(1)
    model = load(type(planted_bert.model)(planted_bert.config).eval(), planted_bert.tokenizer)
    encoded = [*SENTENCES, encode_planted("who ran", name="short"), encode_planted("it", "he.")]
    maps = _maps(model, encoded)
    rows = measured(model, SURFACE, encoded, "target", batch_tokens=30)
    for layer in range(2):
        for head in range(8):
            each = [naive_surface(e, maps[i][layer, head], False) for i, e in enumerate(encoded)]
            for target in each[0]:
                values = [one[target] for one in each if not math.isnan(one[target])]
                if not values:
                    continue
                row = rows[layer, head, target]
                assert row["mean"] == pytest.approx(np.mean(values), abs=1e-6)
                assert row["n"] == len(values)


def test_shares_of_key_classes_sum_to_one(
    planted_bert: LoadedModel, measured: Callable[..., Any]
) -> None:
    rows = measured(planted_bert, SURFACE, SENTENCES, "target")
    for head in range(8):
        shares = [rows[0, head, target]["mean"] for target in ("cls", "sep", "punct", "other")]
        assert sum(shares) == pytest.approx(1, abs=1e-6)


def test_three_stacks(measured: Callable[..., Any]) -> None:
    torch.manual_seed(2)
    config = T5Config(
        vocab_size=40, d_model=16, num_layers=2, num_decoder_layers=1, num_heads=2, d_kv=8, d_ff=16
    )
    tokenizer = load(T5Model(config).eval(), object())
    source = encode_planted("the cat sat.")
    target = encode_planted("a dog ran")
    encoded = [_paired(source, target)]
    rows = measured(tokenizer, SURFACE, encoded, "target", stack="cross")
    assert {t for _, _, t in rows} == {"cls", "sep", "punct", "other", *_FROM_SEP}
    decoder = measured(tokenizer, SURFACE, encoded, "target", stack="decoder")
    assert "first" in {t for _, _, t in decoder}


_FROM_SEP = ("sep_from_sep", "sep_from_other")


def _paired(source: Encoded, target: Encoded) -> Encoded:
    from dataclasses import replace

    return replace(source, target=target, model_inputs={})


def _maps(model: LoadedModel, encoded: list[Encoded]) -> list[np.ndarray[Any, Any]]:
    """Every sequence's maps [layer, head, query, key], one sequence at a time, no padding."""
    found = []
    for one in encoded:
        layers: list[Any] = []
        with (
            torch.inference_mode(),
            Tap(
                model.model,
                observer=lambda view, to=layers: to.append(view.pattern[0].double().numpy()),
            ) as tap,
        ):
            tap.forward(collate([one]))
        found.append(np.stack(layers))
    return found


def test_expected_patterns_are_what_the_naive_loop_gets() -> None:
    """The hand-worked numbers above do not rest on the code under test."""
    pattern = expected_pattern(SENTENCES[0])
    assert naive_surface(SENTENCES[0], pattern[HEAD["previous"]], False)["prev"] == (
        pytest.approx(5 / 6)
    )
