"""`headscope patterns`: the whole way from drawing maps to weights of one's own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headscope.cli.app import app
from headscope.errors import UsageError
from headscope.measures.patterns.labelled_maps import load_maps
from headscope.measures.patterns.rulers import rulers


def run(*words: str, keys: str | None = None) -> str:
    result = CliRunner().invoke(app, ["patterns", *words], input=keys, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_evaluate_prints_the_macro_f1_of_the_shipped_network() -> None:
    told = json.loads(run("evaluate", "--json"))
    assert told["macro_f1"] >= 0.72
    assert told["n"] >= 300
    assert sum(map(sum, told["confusion"])) == told["n"]
    assert told["accuracy_of_model"].keys() == set(told["models"])
    assert min(told["accuracy_of_model"].values()) <= told["accuracy"]
    assert f"macro-F1 {told['macro_f1']:.3f}" in run("evaluate")
    assert "| labelled \\ named |" in run("evaluate", "--markdown")


def test_sample_label_train_evaluate(tmp_path: Path, planted_folder: Path) -> None:
    file, weights = tmp_path / "mine.json", tmp_path / "mine.safetensors"
    texts = tmp_path / "texts.txt"
    texts.write_text("the cat sat on the mat.\na dog saw a mouse under the house.\n")
    run("sample", str(planted_folder), "--corpus", str(texts), "-n", "6", "-o", str(file))
    assert len(load_maps(file)) == 6
    # v, d, then d taken back for h, a key that means nothing, skip, quit
    said = run("label", str(file), keys="vduhxsq")
    assert f"  {rulers(load_maps(file).maps[0])}\n" in said
    assert "6 of 6" not in said
    assert [one.label for one in load_maps(file).labels] == [
        "vertical", "heterogeneous", None, None, None, None
    ]  # fmt: skip
    assert "map 3 of 6" in said
    run("label", str(file), "--again", "1", keys="b")
    assert sum(one.second == "block" for one in load_maps(file).labels) == 1
    few = ("--maps", "50", "--epochs", "1", "--steps", "2")
    said = run("train", "-o", str(weights), "--labels", str(file), *few)
    assert "macro-F1" in said
    told = json.loads(run("evaluate", "--weights", str(weights), "--labels", str(file), "--json"))
    assert told["n"] == 2


def test_what_makes_no_sense_is_refused(tmp_path: Path) -> None:
    def refused(*words: str) -> str:
        with pytest.raises(UsageError) as error:
            CliRunner().invoke(app, ["patterns", *words], catch_exceptions=False)
        return str(error.value)

    assert ".safetensors" in refused("train", "-o", str(tmp_path / "weights.bin"))
    assert ".json" in refused("sample", "default", "-o", str(tmp_path / "maps.npz"))
    assert "no labelled maps" in refused("evaluate", "--split", "nowhere")
    (tmp_path / "there.json").write_text("{}")
    assert "exists already" in refused("sample", "default", "-o", str(tmp_path / "there.json"))
