"""Only some layers: the same numbers for them, none of the others, and a pass that ends early."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import headscope as hs
from headscope.cli import main
from headscope.corpora import Corpus, shipped_corpus
from headscope.engine import Settings, analyze, choose_measures
from headscope.engine.layers import parse_layers
from headscope.engine.plan import encoder_for
from headscope.engine.shard import run_shard
from headscope.errors import RunError, UsageError
from headscope.models import LoadedModel, Tap, View, load
from headscope.types import Encoded
from tests.models.tiny import FAMILIES, batch_for


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return shipped_corpus(limit=12)


@pytest.fixture(scope="module")
def model() -> LoadedModel:
    """Four layers with ordinary random weights."""
    from transformers import BertConfig, BertModel

    from tests.planted import VOCABULARY, planted_tokenizer

    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(VOCABULARY),
        hidden_size=32,
        num_hidden_layers=4,
        num_attention_heads=4,
        intermediate_size=32,
        max_position_embeddings=64,
        initializer_range=0.5,
    )
    return load(BertModel(config), planted_tokenizer())


@pytest.mark.parametrize(
    ("text", "layers"),
    [("3", (3,)), ("1-4,6", (1, 2, 3, 4, 6)), (" 2 , 1", (1, 2)), ("2,2-3", (2, 3))],
)
def test_layers_as_people_write_them(text: str, layers: tuple[int, ...]) -> None:
    assert parse_layers(text) == layers


@pytest.mark.parametrize("text", ["", "0", "3-1", "a", "1,,2", "-1", "1-", "1.5", "9" * 30])
def test_what_is_no_layers(text: str) -> None:
    with pytest.raises(UsageError, match="such as 3 or 1-4,6"):
        parse_layers(text)


def test_chosen_layers_are_those_of_a_whole_pass(
    model: LoadedModel, corpus: Corpus, tmp_path: Path
) -> None:
    measures = choose_measures()
    whole = analyze(model, corpus, tmp_path / "whole", measures=measures, dropped="skip")
    some = analyze(
        model,
        corpus,
        tmp_path / "some",
        measures=measures,
        dropped="skip",
        settings=Settings(layers=(2, 3)),
    )
    assert some.record.request.settings["layers"] == [2, 3]
    assert any("layers 2, 3" in note for note in some.record.notes)
    compared = []
    for name in some.tables:
        table = some.table(name)
        if "layer" not in table.column_names or name not in whole.tables:
            continue
        layers = set(table["layer"].to_pylist())
        assert layers <= {1, 2}, name
        if name in ("surface", "entropy", "sieve", "distance", "features", "links", "parser"):
            compared.append(name)
            rows = [r for r in whole.table(name).to_pylist() if r["layer"] in (1, 2)]
            assert table.to_pylist() == rows or str(table.to_pylist()) == str(rows), name
    assert {"surface", "entropy", "sieve", "distance", "parser"} <= set(compared)
    by_rule = [str(run.table("parser_baseline").to_pylist()) for run in (some, whole)]
    assert by_rule[0] == by_rule[1]
    pairs = some.table("divergence").to_pylist()
    assert {r["layer_a"] for r in pairs} | {r["layer_b"] for r in pairs} == {1, 2}
    assert len(pairs) == 8 * 7 // 2
    assert (some.path / "report.html").is_file()
    opened = hs.open_run(some.path)
    assert opened.head(2, 1).to_dict()
    assert opened.roles().means


def test_the_pass_ends_after_the_last_layer(model: LoadedModel, corpus: Corpus) -> None:
    encoder = encoder_for(model, dropped="skip")
    texts = [e for e in encoder.encode_many(corpus) if isinstance(e, Encoded)]
    ran: list[int] = []
    layers: Any = model.model.encoder.layer
    hooks = [
        layer.register_forward_pre_hook(lambda *_, i=i: ran.append(i))
        for i, layer in enumerate(layers)
    ]
    hooks.append(layers[1].output.register_forward_pre_hook(lambda *_: ran.append(99)))
    values = run_shard(model, choose_measures(["surface"]), texts, Settings(layers=(2,)))
    for hook in hooks:
        hook.remove()
    assert set(ran) == {0, 1}, "layers 3 and 4, and the feed-forward part of 2, are not computed"
    assert {place.layer for _, place in values} == {1}


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_shows_the_chosen_layer_alone(name: str) -> None:
    family = FAMILIES[name]
    model, batch = family.build(), batch_for(family)
    seen: dict[tuple[str, int], Any] = {}

    def observer(view: View) -> None:
        seen[view.stack, view.layer] = (view.pattern.clone(), view.first_layer)

    with torch.inference_mode(), Tap(model, observer=observer) as tap:
        tap.watch(batch)
        whole, seen = seen, {}
        only = tap.layout.only({1})
        tap.watch(batch, only)
    assert set(seen) == {key for key in whole if key[1] == 1}
    for key, (pattern, first) in seen.items():
        assert torch.equal(pattern, whole[key][0])
        assert (first, whole[key][1]) == (1, 0)


def test_a_run_of_other_layers_is_another_run(
    model: LoadedModel, corpus: Corpus, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"measures": choose_measures(["surface"]), "dropped": "skip"}
    analyze(model, corpus, tmp_path / "r", settings=Settings(layers=(1,)), **options)
    with pytest.raises(RunError, match="layers"):
        analyze(model, corpus, tmp_path / "r", resume=True, **options)


def test_layers_that_are_not_there(
    planted_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = tmp_path / "a.txt"
    text.write_text("the cat sat.\n", encoding="utf-8")
    for given in ("3", "1-7", "x"):
        output = tmp_path / "run"
        words = ["headscope", "analyze", str(planted_folder), "-c", str(text), "-o", str(output)]
        monkeypatch.setattr(sys, "argv", [*words, "--layers", given])
        with pytest.raises(SystemExit) as stopped:
            main()
        assert stopped.value.code == 2
        said = capsys.readouterr().err
        assert "--layers" in said
        assert "Traceback" not in said
        assert not output.exists()


def test_the_model_is_left_as_it_was(model: LoadedModel, corpus: Corpus) -> None:
    encoder = encoder_for(model, dropped="skip")
    texts = [e for e in encoder.encode_many(corpus) if isinstance(e, Encoded)]
    run_shard(model, choose_measures(["entropy"]), texts[:2], Settings(layers=(1,)))
    assert all(not module._forward_pre_hooks for module in _modules(model.model))
    whole = run_shard(model, choose_measures(["entropy"]), texts[:2], Settings())
    assert {place.layer for _, place in whole} == {0, 1, 2, 3}


def _modules(model: nn.Module) -> list[nn.Module]:
    return list(model.modules())
