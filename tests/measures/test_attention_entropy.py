"""Entropy: planted heads by hand, scipy, smoothing."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats
import torch

from headscope.errors import UsageError
from headscope.measures import build
from headscope.measures.attention_entropy import entropy_nats
from headscope.models import LoadedModel
from tests.planted import (
    HEADS,
    encode_planted,
    encode_planted_causal,
    expected_pattern,
    planted_causal,
)
from tests.reference.naive_surface import naive_entropy

SENTENCES = [encode_planted("the cat sat.", name="one"), encode_planted("he ran", "it sat.")]


def test_planted_heads_by_hand(planted_bert: LoadedModel, measured: Callable[..., Any]) -> None:
    rows = measured(planted_bert, build("entropy"), SENTENCES[:1], "rows")
    for head, name in enumerate(HEADS):
        value = rows[1, head, "all"]["mean_nats"]
        # six tokens in one segment: only `segment` and `everywhere` spread, over all of them
        expected = math.log(6) if name in ("segment", "everywhere") else 0.0
        assert value == pytest.approx(expected, abs=1e-6), name


@pytest.mark.parametrize("smoothing", [0.0, 1e-4, 0.3])
def test_equals_the_naive_loop(
    planted_bert: LoadedModel, measured: Callable[..., Any], smoothing: float
) -> None:
    measure = build("entropy", {"smoothing": smoothing})
    rows = measured(planted_bert, measure, SENTENCES, "rows")
    for head in range(8):
        each = [naive_entropy(e, expected_pattern(e)[head], smoothing) for e in SENTENCES]
        for label in ("all", "cls"):
            expected = np.mean([one[label] for one in each])
            assert rows[0, head, label]["mean_nats"] == pytest.approx(expected, abs=1e-5)


def test_entropy_is_scipys() -> None:
    torch.manual_seed(0)
    pattern = torch.softmax(3 * torch.randn(2, 3, 5, 7), dim=-1)
    expected = scipy.stats.entropy(pattern.double().numpy(), axis=-1)
    np.testing.assert_allclose(entropy_nats(pattern).numpy(), expected, atol=1e-6)


def test_without_cls_there_is_no_cls_row(measured: Callable[..., Any]) -> None:
    encoded = [encode_planted_causal("the cat sat on the mat")]
    rows = measured(planted_causal(), build("entropy"), encoded, "rows")
    assert {label for _, _, label in rows} == {"all"}


def test_one_sequence_has_no_interval(
    planted_bert: LoadedModel, measured: Callable[..., Any]
) -> None:
    rows = measured(planted_bert, build("entropy"), SENTENCES[:1], "rows")
    assert math.isnan(rows[0, 0, "all"]["ci_low"])


@pytest.mark.parametrize("value", ["-1", "1", "much"])
def test_nonsense_parameters_are_refused(value: str) -> None:
    with pytest.raises(UsageError, match=r"entropy\.smoothing"):
        build("entropy", {"smoothing": value})


def test_unknown_parameters_are_refused() -> None:
    with pytest.raises(UsageError, match="parameters: smoothing"):
        build("entropy", {"smoothness": 1})
