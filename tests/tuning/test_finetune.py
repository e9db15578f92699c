"""Fine-tuning: it learns, it can be killed, and it writes what plain transformers loads."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForSequenceClassification, AutoTokenizer, BertConfig, BertModel

from headscope.engine.task_data import load_for_task, load_for_tuning, read_part
from headscope.engine.tune import tune, tune_seeds
from headscope.errors import RunError, UsageError
from headscope.tasks import Split, Task, answer, find_task
from headscope.tuning import TuningOptions, finetune
from headscope.tuning.length_groups import LengthGroups
from tests.planted import PAD, VOCABULARY, planted_tokenizer

Data = tuple[Task, Split, Split]
FAST = TuningOptions(epochs=8, batch_size=8, learning_rate=3e-3, save_every=20)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A small BERT without a head."""
    folder = tmp_path_factory.mktemp("base") / "bert"
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=40, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=64, max_position_embeddings=40, pad_token_id=PAD,
        initializer_range=0.2,
    )  # fmt: skip
    BertModel(config).save_pretrained(folder)
    planted_tokenizer().save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Data:
    """Texts whose label is whether "cat" occurs."""
    folder = tmp_path_factory.mktemp("data")
    random = np.random.default_rng(0)
    words = [w for w in VOCABULARY[8:36] if w != "cat"]
    for part, n in (("train", 160), ("dev", 40)):
        rows = []
        for i in range(n):
            text = list(random.choice(words, random.integers(3, 12)))
            if i % 2:
                text[random.integers(len(text))] = "cat"
            rows.append(f"{' '.join(text)},{'yes' if i % 2 else 'no'}\n")
        (folder / f"{part}.csv").write_text("text,label\n" + "".join(rows), encoding="utf-8")
    task, train = read_part(find_task("classification"), "train", data=folder)
    task, dev = read_part(task, "dev", data=folder)
    return task, train, dev


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "model.safetensors")


@pytest.fixture(scope="module")
def tuned(base: str, data: Data, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tuned") / "model"
    tune(base, *data, folder, options=FAST)
    return folder


def test_plain_transformers_loads_what_it_writes(tuned: Path, data: Data) -> None:
    _, _, dev = data
    record = json.loads((tuned / "finetune.json").read_text())
    model = AutoModelForSequenceClassification.from_pretrained(tuned).eval()
    tokenizer = AutoTokenizer.from_pretrained(tuned)
    assert model.config.id2label == {0: "no", 1: "yes"}
    right = 0
    for example in dev.examples:
        with torch.no_grad():
            logits = model(**tokenizer(example.sequence.text, return_tensors="pt")).logits
        right += int(logits.argmax()) == example.gold
    assert right / len(dev) == record["result"]["dev"]["accuracy"]
    assert right / len(dev) > 0.8, "it should have learnt this"
    assert not (tuned / "training").exists()
    card = (tuned / "README.md").read_text()
    assert "accuracy" in card
    assert "40 examples" in card


class KilledError(Exception):
    """Stands for a power cut."""


def after(n_steps: int) -> Callable[[int], None]:
    seen = 0

    def advance(n: int) -> None:
        nonlocal seen
        seen += n
        if seen >= n_steps:
            raise KilledError

    return advance


@pytest.mark.parametrize("at", [6, 95])
def test_a_killed_training_ends_with_the_same_weights(
    base: str, data: Data, tuned: Path, tmp_path: Path, at: int
) -> None:
    task, train, dev = data
    model = load_for_tuning(base, task, FAST.seed)
    with pytest.raises(KilledError):
        finetune(
            model, task, train, dev, tmp_path / "m", options=FAST, base=base, advance=after(at)
        )
    assert not (tmp_path / "m" / "config.json").exists()
    with pytest.raises(RunError, match="unfinished fine-tuning; add --resume"):
        tune(base, task, train, dev, tmp_path / "m", options=FAST)
    other = FAST.model_copy(update={"epochs": 3.0})
    with pytest.raises(RunError, match=r"asked differently[\s\S]*epochs"):
        tune(base, task, train, dev, tmp_path / "m", options=other, resume=True)
    tune(base, task, train, dev, tmp_path / "m", options=FAST, resume=True)
    once, again = weights(tuned), weights(tmp_path / "m")
    assert once.keys() == again.keys()
    assert all(torch.equal(once[name], again[name]) for name in once)
    # a finished one is left alone
    with pytest.raises(RunError, match="holds a tuned model"):
        tune(base, task, train, dev, tmp_path / "m", options=FAST)
    before = (tmp_path / "m" / "model.safetensors").stat().st_mtime_ns
    tune(base, task, train, dev, tmp_path / "m", options=FAST, resume=True)
    assert (tmp_path / "m" / "model.safetensors").stat().st_mtime_ns == before


def test_early_stopping_looks_at_held_out_training_rows(
    base: str, data: Data, tmp_path: Path
) -> None:
    options = FAST.model_copy(update={"epochs": 40.0, "patience": 3, "held_out": 0.2})
    found = tune(base, *data, tmp_path / "m", options=options)
    result = found.record["result"]
    assert result["counts"]["n_held_out"] == 32
    assert result["counts"]["n_train"] == 128
    looks = [entry for entry in result["history"] if "eval_accuracy" in entry]
    assert len(looks) >= 3
    assert result["steps"] < 40 * 16
    # the weights are those of the best look
    task, train, _ = data
    model, task = load_for_task(str(tmp_path / "m"), task)
    order = np.random.default_rng(0).permutation(len(train))[:32]
    held = Split("held", tuple(train.examples[i] for i in sorted(order)), (), "")
    prepared, _ = task.prepare(held, task.encoder(model))
    score = task.scores(answer(model, task, prepared), prepared)["accuracy"]
    assert score == max(entry["eval_accuracy"] for entry in looks)


def test_seeds_and_their_median(base: str, data: Data, tmp_path: Path) -> None:
    options = FAST.model_copy(update={"epochs": 0.5})
    found = tune_seeds(base, *data, tmp_path / "many", seeds=[0, 1, 2], options=options)
    told = json.loads((tmp_path / "many" / "seeds.json").read_text())
    scores = [one.dev["accuracy"] for one in found]
    assert told["median"]["accuracy"] == np.median(scores)
    first, second = (weights(tmp_path / "many" / f"seed-{i}") for i in (0, 1))
    assert any(not torch.equal(first[name], second[name]) for name in first)


def test_folders_with_other_things_are_left_alone(base: str, data: Data, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(RunError, match="is not empty"):
        tune(base, *data, tmp_path, options=FAST)
    assert [p.name for p in tmp_path.iterdir()] == ["mine.txt"]


def test_a_model_without_a_trained_head_answers_no_task(base: str, data: Data) -> None:
    with pytest.raises(UsageError, match="headscope finetune"):
        load_for_task(base, data[0])


def test_every_example_is_seen_once_an_epoch_and_lengths_stay_together() -> None:
    lengths = np.random.default_rng(0).integers(1, 60, 1000).tolist()
    order = LengthGroups(lengths, batch_size=8, seed=1)
    first = list(order)
    assert sorted(first) == list(range(1000))
    assert list(order) == first
    order.set_epoch(1)
    assert list(order) != first
    spread = [np.ptp([lengths[i] for i in first[k : k + 8]]) for k in range(0, 1000, 8)]
    assert np.mean(spread) < 10
