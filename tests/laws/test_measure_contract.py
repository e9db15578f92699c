"""One contract for every registered measure, whoever wrote it."""

from __future__ import annotations

import copy
import inspect
from typing import Any

import numpy as np
import pytest
import torch
from transformers import BertForMaskedLM

from headscope.corpora import shipped_corpus
from headscope.engine import Settings
from headscope.engine.plan import encoder_for
from headscope.engine.shard import Values, add, run_shard
from headscope.measures import MEASURES, GradientMeasure, Measure, Total, build, rebuild
from headscope.models import LoadedModel, load
from headscope.store import to_arrow
from headscope.types import Encoded, FactsBuilder
from headscope.values import pack, unpack

NAMES = sorted(MEASURES)


@pytest.fixture(scope="session")
def encoded(planted_bert: LoadedModel) -> list[Encoded]:
    """Passages with every annotation there is, as the planted tokenizer sees them."""
    outcomes = encoder_for(planted_bert, max_tokens=40).encode_many(shipped_corpus(limit=12))
    return [o for o in outcomes if isinstance(o, Encoded)]


@pytest.fixture(scope="session")
def with_head(planted_bert: LoadedModel) -> LoadedModel:
    """A model of the same shape with random weights and a language-model head."""
    torch.manual_seed(0)
    config = copy.deepcopy(planted_bert.config)
    return load(BertForMaskedLM(config), planted_bert.tokenizer)


@pytest.fixture
def model(name: str, planted_bert: LoadedModel, with_head: LoadedModel) -> LoadedModel:
    """The planted model; for gradients one that has a loss."""
    return with_head if issubclass(MEASURES[name], GradientMeasure) else planted_bert


def _values(model: LoadedModel, measure: Measure, part: list[Encoded], batch_tokens: int) -> Values:
    facts = FactsBuilder()
    for one in part:
        facts.add(one)
    return run_shard(model, [measure], part, Settings(batch_tokens=batch_tokens), facts.build())


def _tables(model: LoadedModel, measure: Measure, values: Values) -> dict[str, Any]:
    result = measure.finish(Total(model.layout, {place: v for (_, place), v in values.items()}))
    return {name: to_arrow(name, columns) for name, columns in result.tables.items()}


def _assert_close(a: dict[str, Any], b: dict[str, Any], tolerance: float = 1e-6) -> None:
    assert a.keys() == b.keys()
    for name in a:
        assert a[name].schema == b[name].schema
        assert a[name].num_rows == b[name].num_rows
        for column in a[name].column_names:
            x, y = a[name][column].to_pylist(), b[name][column].to_pylist()
            if x and isinstance(x[0], float):
                np.testing.assert_allclose(x, y, atol=tolerance, rtol=tolerance, equal_nan=True)
            else:
                assert x == y, (name, column)


@pytest.mark.parametrize("name", NAMES)
def test_the_spec_rebuilds_it(name: str) -> None:
    measure = build(name)
    again = rebuild(measure.spec())
    assert again == measure
    assert again.spec() == measure.spec()
    assert measure.name == name


@pytest.mark.parametrize("name", NAMES)
def test_it_is_frozen_and_documented(name: str) -> None:
    kind = MEASURES[name]
    documented = inspect.getdoc(kind) or ""
    assert documented.partition("\n")[0].endswith(".")
    assert "Source" in documented
    assert kind.tables
    assert kind.model_config["frozen"]
    assert kind.model_config["extra"] == "forbid"
    for field in kind.model_fields.values():
        assert field.description, "a parameter says what it is"


@pytest.mark.parametrize("name", NAMES)
def test_values_add(name: str, model: LoadedModel, encoded: list[Encoded]) -> None:
    measure = build(name)
    facts = FactsBuilder()
    for one in encoded:
        facts.add(one)
    known = facts.build()

    def of(part: list[Encoded], batch_tokens: int) -> Values:
        settings = Settings(batch_tokens=batch_tokens)
        return run_shard(model, [measure], part, settings, known)

    whole = of(encoded, 4096)
    if not whole:
        pytest.skip(f"{name} has nothing to say of a plain forward pass of this model")
    parts: Values = {}
    for start in range(0, len(encoded), 5):
        add(parts, of(encoded[start : start + 5], 80))
    _assert_close(_tables(model, measure, whole), _tables(model, measure, parts))


@pytest.mark.parametrize("name", NAMES)
def test_empty_is_neutral_and_checkpoints_are_lossless(
    name: str, model: LoadedModel, encoded: list[Encoded]
) -> None:
    values = _values(model, build(name), encoded[:4], 4096)
    for value in values.values():
        assert (value.empty_like() + value).identical(value)
        assert (value + value.empty_like()).identical(value)
        assert unpack(*pack({"v": value}))["v"].identical(value)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_twice_is_the_same_bits(
    name: str, model: LoadedModel, encoded: list[Encoded]
) -> None:
    first = _values(model, build(name), encoded[:4], 80)
    second = _values(model, build(name), encoded[:4], 80)
    assert first.keys() == second.keys()
    assert all(first[key].identical(second[key]) for key in first)


@pytest.mark.parametrize("name", NAMES)
def test_its_tables_are_those_it_names(
    name: str, model: LoadedModel, encoded: list[Encoded]
) -> None:
    measure = build(name)
    values = _values(model, measure, encoded, 4096)
    if values:
        assert set(_tables(model, measure, values)) <= set(measure.tables)
