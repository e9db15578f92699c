"""Two models in one pass: equal models are exactly alike, a changed head shows in its row only."""

from __future__ import annotations

import copy
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertModel

from headscope.corpora import Corpus
from headscope.engine import Settings
from headscope.engine.compare import compare_models, observe_together
from headscope.engine.lockstep import in_lockstep
from headscope.errors import UsageError
from headscope.measures import Place
from headscope.models import LoadedModel, collate, load
from headscope.types import Facts
from headscope.values import Moments
from tests.planted import (
    HEADS,
    VOCABULARY,
    encode_planted,
    planted,
    planted_model,
    planted_tokenizer,
)

TEXTS = [
    "The cat sat on the mat, and the dog ran.",
    ("She saw her cat.", "It ate the bird."),
    "Who?",
    "A mouse ran under the old red house and the big tree.",
]
ENCODED = [
    encode_planted(*((t,) if isinstance(t, str) else t), name=f"s{i}") for i, t in enumerate(TEXTS)
]


def tiny(seed: int, **options: Any) -> LoadedModel:
    """An ordinary small BERT for the planted tokenizer."""
    torch.manual_seed(seed)
    settings = {
        "vocab_size": len(VOCABULARY),
        "hidden_size": 32,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "intermediate_size": 32,
        "max_position_embeddings": 40,
        "initializer_range": 0.6,
    }
    model = BertModel(BertConfig(**{**settings, **options})).eval()
    return load(model, planted_tokenizer())


def columns(run: Any, table: str) -> dict[str, np.ndarray]:
    found = run.table(table)
    return {name: np.array(found.column(name).to_pylist()) for name in found.column_names}


def test_identical_models_give_exactly_one(tmp_path: Path) -> None:
    one = tiny(0)
    other = load(copy.deepcopy(one.model), planted_tokenizer())
    run = compare_models(one, other, Corpus.of(TEXTS), tmp_path / "run", seed=5)
    similarity = columns(run, "similarity")
    assert set(similarity["cosine"]) == {1.0}
    assert set(similarity["n"]) == {len(TEXTS)}
    assert len(similarity["cosine"]) == 3 * 4
    against = columns(run, "similarity_random")["cosine"]
    assert (against < 0.999).all()
    assert (against > 0).all()
    assert "random twin" in (tmp_path / "run" / "report.html").read_text()
    features = columns(run, "features_compared")
    half = len(features["mean"]) // 2
    assert len(set(features["model"])) == 2
    assert features["mean"][:half].tolist() == features["mean"][half:].tolist()


def test_a_changed_head_shows_in_its_row_only(tmp_path: Path) -> None:
    changed = planted_model()
    head = HEADS.index("next")
    size = changed.config.hidden_size // len(HEADS)
    attention = changed.encoder.layer[-1].attention.self
    with torch.no_grad():
        attention.query.weight[head * size : (head + 1) * size] = 0.0  # now an even head
    run = compare_models(
        planted(), load(changed, planted_tokenizer()), Corpus.of(TEXTS), tmp_path / "run"
    )
    found = columns(run, "similarity")
    mine = (found["layer"] == 1) & (found["head"] == head)
    assert mine.sum() == 1
    assert set(found["cosine"][~mine]) == {1.0}
    # the next-token map has n ones, the even map 1/n everywhere: cos = 1 / √n for n tokens
    expected = np.mean([1 / np.sqrt(e.n_tokens) for e in ENCODED])
    assert found["cosine"][mine] == pytest.approx(expected, abs=1e-6)


def test_cosines_agree_with_the_library_s_own_maps() -> None:
    one, other = tiny(1), tiny(2)
    values = observe_together([one, other], [], ENCODED)
    for layer in range(3):
        expected = []
        for encoded in ENCODED:
            maps = []
            for model in (one, other):
                model.model.set_attn_implementation("eager")
                with torch.inference_mode():
                    output = model.model(**collate([encoded]).inputs, output_attentions=True)
                maps.append(output.attentions[layer][0].double().flatten(1).numpy())
            a, b = maps
            norms = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
            expected.append((a * b).sum(axis=1) / norms)
        moments = values["similarity", Place("self", layer)]
        assert isinstance(moments, Moments)
        assert moments.mean == pytest.approx(np.mean(expected, axis=0), abs=1e-6)


def test_other_shapes_and_tokenizers_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"3×4.*2×4"):
        compare_models(
            tiny(0), tiny(0, num_hidden_layers=2), Corpus.of(TEXTS), tmp_path / "a", twin=False
        )
    shouting = planted_tokenizer()
    shouting.backend_tokenizer.normalizer = None  # capital letters are unknown to it
    other = load(tiny(1).model, shouting)
    with pytest.raises(UsageError, match="different tokens"):
        compare_models(tiny(0), other, Corpus.of(["The cat", "A dog"]), tmp_path / "b")
    assert not (tmp_path / "a").exists()
    assert not (tmp_path / "b").exists()


def test_at_most_three_layers_are_in_memory_at_a_time() -> None:
    """A follower waits for the leader: it never gets more than two layers ahead."""
    one, other = tiny(0, num_hidden_layers=6), tiny(1, num_hidden_layers=6)
    seen: list[int] = []
    ahead: list[int] = []
    layers = other.model.encoder.layer
    hooks = [
        layer.register_forward_hook(lambda *_, i=i: ahead.append(i - len(seen)))
        for i, layer in enumerate(layers)
    ]
    in_lockstep([one, other], ENCODED, Facts(), lambda views: seen.append(views[0].layer))
    for hook in hooks:
        hook.remove()
    assert seen == list(range(6))
    assert max(ahead) <= 2


def test_an_error_in_either_model_ends_both(tmp_path: Path) -> None:
    n_threads = threading.active_count()
    for broken in (0, 1):
        models = [tiny(0), tiny(1)]

        def fail(*_: object) -> None:
            raise ValueError("broken layer")

        models[broken].model.encoder.layer[1].register_forward_pre_hook(fail)
        with pytest.raises(ValueError, match="broken layer"):
            in_lockstep(models, ENCODED, Facts(), lambda views: None)
        for model in models:  # both taps are closed again
            assert model.model.config._attn_implementation != "headscope"
    assert threading.active_count() == n_threads


def test_shards_and_batches_do_not_matter(tmp_path: Path) -> None:
    one, other = tiny(1), tiny(2)
    runs = [
        compare_models(one, other, Corpus.of(TEXTS), tmp_path / str(i), settings=settings)
        for i, settings in enumerate([Settings(), Settings(shard_size=1, batch_tokens=1)])
    ]
    for table in ("similarity", "similarity_random"):
        a, b = (columns(run, table)["cosine"] for run in runs)
        assert a == pytest.approx(b, abs=1e-6)


def test_out_of_memory_halves_the_batch(tmp_path: Path) -> None:
    one, other = tiny(1), tiny(2)
    whole = compare_models(one, other, Corpus.of(TEXTS), tmp_path / "whole")
    sizes: list[int] = []

    def greedy(module: Any, args: Any, kwargs: dict[str, Any]) -> None:
        sizes.append(len(kwargs["input_ids"]))
        if sizes[-1] > 1:
            raise torch.OutOfMemoryError("no room for two")

    hook = other.model.register_forward_pre_hook(greedy, with_kwargs=True)
    try:
        halved = compare_models(one, other, Corpus.of(TEXTS), tmp_path / "halved")
    finally:
        hook.remove()
    assert max(sizes) > 1
    assert sizes.count(1) == len(TEXTS)
    a, b = (columns(run, "similarity")["cosine"] for run in (whole, halved))
    assert a == pytest.approx(b, abs=1e-6)


def test_an_interrupted_comparison_goes_on(tmp_path: Path) -> None:
    one, other = tiny(1), tiny(2)
    settings = Settings(shard_size=1)
    whole = compare_models(one, other, Corpus.of(TEXTS), tmp_path / "whole", settings=settings)
    calls: list[None] = []

    def stop(*_: object) -> None:
        calls.append(None)
        if len(calls) > 2:
            raise KeyboardInterrupt

    hook = one.model.register_forward_pre_hook(stop)
    with pytest.raises(KeyboardInterrupt):
        compare_models(one, other, Corpus.of(TEXTS), tmp_path / "cut", settings=settings)
    hook.remove()
    resumed = compare_models(
        one, other, Corpus.of(TEXTS), tmp_path / "cut", settings=settings, resume=True
    )
    for table in whole.tables:
        paths = [run.path / "tables" / f"{table}.parquet" for run in (whole, resumed)]
        assert paths[0].read_bytes() == paths[1].read_bytes()
