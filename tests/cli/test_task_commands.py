"""`headscope finetune`, `ablate`, `importance` and `prune`, as people use them."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from transformers import BertConfig, BertModel

from headscope.store import open_run
from tests.label_head import save_label_data, save_label_model
from tests.planted import PAD, planted_tokenizer
from tests.said import Headscope

ONE_THREAD = {**os.environ, "OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="module")
def label(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model in which one head carries the label."""
    return save_label_model(tmp_path_factory.mktemp("models") / "label")


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_label_data(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def headless(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "bert"
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=40, hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=16, max_position_embeddings=40, pad_token_id=PAD,
    )  # fmt: skip
    BertModel(config).save_pretrained(folder)
    planted_tokenizer().save_pretrained(folder)
    return folder


TASK = ("--task", "classification")


def test_from_tuning_to_pruning(
    headscope: Headscope, headless: Path, texts: Path, tmp_path: Path
) -> None:
    tuned, run = tmp_path / "tuned", tmp_path / "run"
    said = headscope("finetune", headless, *TASK, "--data", texts, "-o", tuned, "--epochs", 1)
    assert said.code == 0, said.err
    assert "accuracy" in said.out
    said = headscope(
        "ablate", tuned, *TASK, "--data", texts, "-o", run, "--by", "head", "--resamples", 99
    )
    assert said.code == 0, said.err
    assert "accuracy" in said.out
    assert {"ablation", "importance"} <= set(open_run(run).tables)
    said = headscope("prune", tuned, "--heads", "1-1,2-2", "-o", tmp_path / "small")
    assert said.code == 0, said.err
    assert "2 heads removed" in said.out
    said = headscope("importance", tuned, *TASK, "--data", texts, "-o", tmp_path / "imp", "--json")
    assert said.code == 0, said.err
    assert "importance" in json.loads(said.out)["findings"]


def test_the_planted_head(headscope: Headscope, label: Path, texts: Path, tmp_path: Path) -> None:
    said = headscope(
        "ablate", label, *TASK, "--data", texts, "-o", tmp_path / "run", "--resamples", 99
    )
    assert said.code == 0, said.err
    assert "Without head 2-3, accuracy goes from 1.000 to 0.500" in said.out
    said = headscope("passport", tmp_path / "run", "2-3")
    assert "accuracy, uniform" in said.out
    said = headscope("passport", tmp_path / "run")
    lines = said.out.splitlines()
    assert len(lines) == 16
    said = headscope("passport", tmp_path / "run", "--csv", tmp_path / "all.csv")
    with (tmp_path / "all.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["section"] for row in rows} == {"ablation", "importance"}
    carrier = [r for r in rows if (r["layer"], r["head"], r["section"]) == ("1", "2", "ablation")]
    assert float(carrier[0]["number"]) == -0.5


def test_passports_join_runs(
    headscope: Headscope, label: Path, headless: Path, texts: Path, tmp_path: Path
) -> None:
    words = tmp_path / "words.txt"
    words.write_text("the cat sat.\na dog saw the bird.\n", encoding="utf-8")
    for name, model in (("one", label), ("other", headless)):
        said = headscope(
            "analyze", model, "-c", words, "-o", tmp_path / name, "--measures", "entropy"
        )
        assert said.code == 0, said.err
    headscope("ablate", label, *TASK, "--data", texts, "-o", tmp_path / "run", "--resamples", 99)
    said = headscope("passport", tmp_path / "one", "2-3", "--also", tmp_path / "run", "--json")
    names = {section["name"] for section in json.loads(said.out)["sections"]}
    assert names == {"entropy", "ablation", "importance"}
    said = headscope("passport", tmp_path / "one", "2-3", "--also", tmp_path / "other")
    assert said.code == 2
    assert "other layers and heads" in said.err


def _csv(folder: Path, text: str) -> Path:
    folder.mkdir()
    for part in ("train", "dev"):
        (folder / f"{part}.csv").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("verb", ["ablate", "importance"])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "text,label\nthe cat,bird\n",
            r"dev.csv:2: found the label 'bird'; expected one of dog, cat",
        ),
        ("text,label\n", "no examples in the dev split"),
        ("text,sort\nthe cat,cat\n", "a column of labels"),
        ("words,label\nthe cat,cat\n", "a text column by name"),
    ],
)
def test_bad_data_is_refused_and_nothing_is_left(
    headscope: Headscope, label: Path, tmp_path: Path, verb: str, text: str, message: str
) -> None:
    data = _csv(tmp_path / "data", text)
    said = headscope(verb, label, *TASK, "--data", data, "-o", tmp_path / "run")
    assert said.code == 2
    assert message in said.err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--by", "set:9-9"], "no head 9-9: the model has 2 layers"),
        (["--by", "role"], "add --run RUN"),
        (["--by", "nothing"], "expected one of head"),
        (["--combine", "triples"], "expected single, pairs, all-but-one"),
        (["--run", "/nowhere"], "does not exist"),
        (["--dev", "/nowhere.csv"], "no such file"),
    ],
)
def test_bad_requests_are_refused(
    headscope: Headscope,
    label: Path,
    texts: Path,
    tmp_path: Path,
    arguments: list[str],
    message: str,
) -> None:
    said = headscope("ablate", label, *TASK, "--data", texts, "-o", tmp_path / "run", *arguments)
    assert said.code == 2, said.out
    assert message in said.err
    assert not (tmp_path / "run").exists()


def test_models_and_heads_that_do_not_fit(
    headscope: Headscope, label: Path, headless: Path, texts: Path, tmp_path: Path
) -> None:
    out = ("-o", tmp_path / "run")
    said = headscope("ablate", headless, *TASK, "--data", texts, *out)
    assert said.code == 2
    assert "has no sequence-classification head" in said.err
    assert "headscope finetune" in said.err
    said = headscope("ablate", label, "--task", "SST-2", "--data", texts, *out)
    assert said.code == 2
    assert "knows the classes dog, cat" in said.err
    said = headscope("ablate", label, "--task", "sentiment", "--data", texts, *out)
    assert said.code == 2
    assert "unknown task" in said.err
    said = headscope("prune", label, "--heads", "7-1", *out)
    assert said.code == 2
    assert "no head 7-1" in said.err
    said = headscope("finetune", headless, "--task", "SQuAD", "--data", texts, *out)
    assert said.code == 2
    assert "train.csv:1: found invalid JSON" in said.err
    said = headscope("finetune", headless, *TASK, *out)
    assert said.code == 2
    assert "expected --data DIR" in said.err
    assert not (tmp_path / "run").exists()


def _killed(arguments: list[str], ready: Callable[[], bool]) -> None:
    """Start a command in a process of its own and kill it as soon as `ready`."""
    code = "from headscope.cli import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        env=ONE_THREAD,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    deadline = time.monotonic() + 120
    while not ready() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    _, err = process.communicate()
    assert ready(), err.decode()


def test_killed_for_real(
    headscope: Headscope, headless: Path, label: Path, texts: Path, tmp_path: Path
) -> None:
    tune = ["finetune", str(headless), *TASK, "--data", str(texts), "--epochs", "20"]
    tune += ["--batch-size", "2", "--save-every", "5"]
    _killed(
        [*tune, "-o", str(tmp_path / "a")],
        lambda: any((tmp_path / "a" / "training").glob("checkpoint-*/trainer_state.json")),
    )
    assert not (tmp_path / "a" / "model.safetensors").exists()
    assert headscope(*tune, "-o", tmp_path / "a").code == 2
    said = headscope(*tune, "-o", tmp_path / "a", "--resume")
    assert said.code == 0, said.err
    assert headscope(*tune, "-o", tmp_path / "b").code == 0
    one, other = (load_file(tmp_path / name / "model.safetensors") for name in "ab")
    assert all(torch.equal(one[key], other[key]) for key in one)

    rows = "".join(f'"cat saw {i % 7 * "the "}dog",cat\n' for i in range(160))
    data = _csv(tmp_path / "data", "text,label\n" + rows)
    ablate = ["ablate", str(label), *TASK, "--data", str(data), "--shard-size", "8"]
    ablate += ["--resamples", "99", "--no-importance"]
    _killed(
        [*ablate, "-o", str(tmp_path / "c")],
        lambda: any((tmp_path / "c" / "checkpoints").glob("shard-*.safetensors")),
    )
    assert not (tmp_path / "c" / "tables").exists()
    said = headscope(*ablate, "-o", tmp_path / "c", "--resume")
    assert said.code == 0, said.err
    assert headscope(*ablate, "-o", tmp_path / "d").code == 0
    table = "tables/ablation.parquet"
    assert (tmp_path / "c" / table).read_bytes() == (tmp_path / "d" / table).read_bytes()
