"""Fine-tuning from heads: the vector that is read, gradients, folders, the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from headscope.engine.tune_pools import parse_pools
from headscope.errors import ModelError, UsageError
from headscope.models import collate, load
from headscope.probes.head_vectors import sentence_vectors
from headscope.tuning.pooled_model import Pool, load_pooled, pooled_model, save_pooled
from headscope.types import HeadId
from tests.planted import encode_planted, encode_planted_causal, planted, planted_causal
from tests.said import Headscope

TEXTS = ("the cat sat on the mat .", "he ran .")
HEADS = (HeadId(1, 2), HeadId(0, 5))


def test_the_vector_is_that_of_the_probes() -> None:
    body = planted()
    batch = collate([encode_planted(text) for text in TEXTS])
    rows, layout = sentence_vectors(body, batch, "first")
    for pool, expected in (
        (Pool(heads=HEADS), torch.cat([rows[:, layout.head(h)] for h in HEADS], dim=1)),
        (Pool(layer=1), rows[:, layout.layer(1)]),
        (Pool(layer=0), rows[:, layout.layer(0)]),
    ):
        model = pooled_model(body, pool, 2, seed=0)
        torch.testing.assert_close(model.model._vector(batch.inputs), expected)
        assert model.model(**batch.inputs).logits.shape == (2, 2)


def test_a_causal_model_is_read_at_its_last_real_token() -> None:
    body = planted_causal()
    encoded = [encode_planted_causal(text) for text in TEXTS]
    model = pooled_model(body, Pool(heads=(HeadId(0, 1),)), 2, seed=0)
    together = model.model._vector(collate(encoded).inputs)
    for i, one in enumerate(encoded):
        alone = model.model._vector(collate([one]).inputs)
        torch.testing.assert_close(together[i : i + 1], alone, atol=1e-4, rtol=1e-4)


def test_gradients_reach_the_heads_and_nothing_above_them() -> None:
    model = pooled_model(planted(), Pool(heads=(HeadId(0, 2),)), 2, seed=0)
    batch = collate([encode_planted(text) for text in TEXTS])
    model.model.train()
    model.model(**batch.inputs).logits.square().sum().backward()
    layers = model.model.body.encoder.layer
    # its value projection learns; only the rows of that head
    found = layers[0].attention.self.value.weight.grad.abs().sum(dim=1).view(8, 80).sum(dim=1)
    assert found[2] > 0
    assert found[[0, 1, 3, 4, 5, 6, 7]].sum() == 0
    assert layers[1].attention.self.value.weight.grad is None


def test_a_seed_makes_the_same_classifier() -> None:
    one, same, other = (pooled_model(planted(), Pool(layer=1), 2, s).model for s in (0, 0, 1))
    assert torch.equal(one.linear.weight, same.linear.weight)
    assert not torch.equal(one.linear.weight, other.linear.weight)


def test_a_saved_model_comes_back_and_is_a_plain_one_too(tmp_path: Path) -> None:
    model = pooled_model(planted(), Pool(heads=HEADS), 3, seed=0)
    save_pooled(model, tmp_path)
    batch = collate([encode_planted(text) for text in TEXTS])
    again = load_pooled(tmp_path)
    torch.testing.assert_close(
        again.model(**batch.inputs).logits, model.model(**batch.inputs).logits
    )
    assert again.model.pool == model.model.pool
    assert load(tmp_path).layout == planted().layout
    with pytest.raises(ModelError, match="has no pooler"):
        load_pooled(tmp_path / "elsewhere")


def test_pools_are_named() -> None:
    assert parse_pools("top-n, last") == ["top-n", "last"]
    for wrong in ("top", "last,first", ""):
        with pytest.raises(UsageError, match="expected last, best or top-n"):
            parse_pools(wrong)


# --- end to end -------------------------------------------------------------------------------


@pytest.fixture
def first_word(tmp_path: Path) -> tuple[Path, Path]:
    """Which of two words comes first: the planted heads 1-3 and 2-3 see it."""
    random = np.random.default_rng(0)
    files = []
    for name, n in (("train", 80), ("dev", 30)):
        lines = ["sentence\tlabel"]
        for i in range(n):
            words = ["cat", "dog"] if i % 2 else ["dog", "cat"]
            fill = " ".join(random.choice(["big", "red", "old"], random.integers(1, 4)))
            lines.append(f"{words[0]} {fill} {words[1]}\t{words[0]}")
        file = tmp_path / f"{name}.tsv"
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        files.append(file)
    return files[0], files[1]


def test_heads_are_ranked_and_tuned_end_to_end(
    headscope: Headscope,
    planted_folder: Path,
    first_word: tuple[Path, Path],
    tmp_path: Path,
) -> None:
    train, dev = first_word
    output = tmp_path / "tuned"
    command = (
        "finetune", planted_folder, "--task", "classification", "--train", train, "--dev", dev,
        "-o", output, "--pool", "last,top-n", "--n-heads", "2", "--seeds", "2", "--epochs", "4",
        "--learning-rate", "1e-3", "--batch-size", "8",
    )  # fmt: skip
    code, out, err = headscope(*command)
    assert code == 0, err
    told = json.loads((output / "pools.json").read_text(encoding="utf-8"))
    assert told["pools"]["top-n"]["reads"]["heads"] == ["1-3", "2-3"]
    assert told["pools"]["top-n"]["median"]["accuracy"] == 1.0
    assert told["pools"]["last"]["reads"]["layer"] == 2
    assert "(median of 2 seeds)" in out
    assert (output / "probe" / "report.html").exists()
    for pool in ("last", "top-n"):
        for seed in (0, 1):
            assert (output / pool / f"seed-{seed}" / "model.safetensors").exists()
    again = load_pooled(output / "top-n" / "seed-0")
    batch = collate([encode_planted("cat big dog"), encode_planted("dog big cat")])
    assert again.model(**batch.inputs).logits.argmax(dim=1).tolist() == [0, 1]

    code, _, err = headscope(*command)
    assert (code, "is not empty" in err) == (2, True)
    code, _, err = headscope(*command, "--resume")
    assert code == 0, err
    after = json.loads((output / "pools.json").read_text(encoding="utf-8"))
    assert after == told


def test_refusals(
    headscope: Headscope,
    planted_folder: Path,
    first_word: tuple[Path, Path],
    tmp_path: Path,
) -> None:
    train, dev = first_word
    base = ("finetune", planted_folder, "--task", "classification", "--train", train, "--dev", dev)
    for more, message in (
        (("--pool", "middle"), "expected last, best or top-n"),
        (("--pool", "top-n", "--probes", tmp_path / "no"), "does not exist"),
    ):
        code, _, err = headscope(*base, "-o", tmp_path / "out", *more)
        assert (code, message in err) == (2, True), err
