"""Parsing probes from treebank files to a run: results, resuming, refusals."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import headscope as hs
from headscope.cli import main
from headscope.corpora import Corpus
from headscope.engine.parse_probe import ProbeOptions, parse_probe, vocabulary
from headscope.errors import RunError
from headscope.figures import draw
from headscope.models import load
from headscope.probes.word_vectors import WordVectors, read_vectors
from headscope.store import Run, open_run
from tests.planted import VOCABULARY

WORDS = list(VOCABULARY[8:36])


def treebank(path: Path, n: int, seed: int) -> Path:
    """Random words; every word's head is the word before it, the first word's is ROOT."""
    random = np.random.default_rng(seed)
    lines = []
    for _ in range(n):
        words = [*random.choice(WORDS, random.integers(3, 9)), "."]
        for i, word in enumerate(words):
            relation = "punct" if word == "." else ("root" if i == 0 else "dep")
            lines.append(f"{i + 1}\t{word}\t_\tX\t_\t_\t{i}\t{relation}\t_\t_")
        lines.append("")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    folder = tmp_path_factory.mktemp("treebanks")
    vectors = folder / "vectors.txt"
    random = np.random.default_rng(0)
    vectors.write_text(
        "".join(f"{w} {' '.join(f'{x:.4f}' for x in random.normal(size=4))}\n" for w in WORDS),
        encoding="utf-8",
    )
    return (
        treebank(folder / "train.conllu", 120, 1),
        treebank(folder / "dev.conllu", 40, 2),
        vectors,
    )


OPTIONS = ProbeOptions(
    max_epochs=4, patience=4, learning_rate=0.05, vectors_learning_rate=0.05, held_out=0.1
)


class Impatient:
    """Listens to a pass and interrupts it when a stage begins."""

    def __init__(self, at: str) -> None:
        self.at = at

    def stage(self, title: str, total: int | None = None) -> None:
        if title.startswith(self.at):
            raise KeyboardInterrupt

    def advance(self, n: int, n_sequences: int = 0) -> None:
        """Never mind."""


def probed(
    folder: Path,
    files: tuple[Path, Path, Path],
    output: Path,
    *,
    at: str = "",
    resume: bool = False,
) -> Run:
    train, dev = Corpus(files[0]), Corpus(files[1])
    vectors: WordVectors = read_vectors(files[2], vocabulary(train, dev))
    return parse_probe(
        load(folder),
        train,
        dev,
        output,
        vectors=vectors,
        options=OPTIONS,
        resume=resume,
        progress=Impatient(at) if at else None,
    )


def test_five_probes_and_the_same_after_a_kill(
    planted_folder: Path, files: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    whole = probed(planted_folder, files, tmp_path / "whole")
    scores = whole.table("parse_probe").to_pandas().set_index("probe")
    assert list(scores.index) == [
        "attention",
        "attention_vectors",
        "distance_vectors",
        "random_attention_vectors",
        "right_branching",
    ]
    # every head is the previous word: planted heads and the distance know it, order does not
    assert scores.loc["attention", "uas"] > 0.95
    assert scores.loc["attention_vectors", "uas"] > 0.95
    assert scores.loc["distance_vectors", "uas"] > 0.8
    assert scores.loc["random_attention_vectors", "uas"] < 0.7
    assert scores.loc["right_branching", "uas"] == 0
    assert (scores["ci_low"] <= scores["uas"]).all()
    assert (scores["uas"] <= scores["ci_high"]).all()
    n_words = sum(
        relation != "punct"
        for sequence in Corpus(files[1])
        for relation in (sequence.dependencies.relations if sequence.dependencies else ())
    )
    assert (scores["n"] == n_words).all()
    weights = whole.table("parse_probe_weights").to_pandas()
    assert len(weights) == 3 * 2 * 16
    mine = weights[
        (weights["probe"] == "attention") & (weights["direction"] == "dependent_to_head")
    ]
    best = mine.nlargest(2, "weight")
    assert set(best["head"]) == {1}  # the planted previous-token head of both layers
    # the distance tells the previous word as well as a planted head does, and the sentence says so
    assert "best baseline (word vectors and distance" in draw(whole, "parse_probe").sentence
    # from the word its previous token, or from the head its next one
    told = draw(whole, "parse_probe_weights").sentence
    assert re.search(r"Head [12]-(2 .*from a word to|3 .*from the head to)", told), told
    with pytest.raises(KeyboardInterrupt):
        probed(planted_folder, files, tmp_path / "killed", at="Epoch 3")
    with pytest.raises(RunError, match="--resume"):
        open_run(tmp_path / "killed")
    killed = probed(planted_folder, files, tmp_path / "killed", resume=True)
    for name in whole.tables:
        one, other = (r.path / "tables" / f"{name}.parquet" for r in (whole, killed))
        assert one.read_bytes() == other.read_bytes(), name
    assert not (tmp_path / "killed" / "checkpoints").exists()


def test_the_python_face(
    planted_folder: Path, files: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    run = hs.parse_probe(
        planted_folder, files[0], files[1], tmp_path / "r", parameters={"max_epochs": 1, "seed": 3}
    )
    assert run.record.request.settings["seed"] == 3
    assert run.table("parse_probe")["n_epochs"].to_pylist() == [1, 0]


@pytest.fixture
def headscope(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str]]:
    """Run a command in this process: its exit code and all it said."""

    def run(*arguments: str | Path) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["headscope", "parse-probe", *map(str, arguments)])
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        said = capfd.readouterr()
        return code, said.out + said.err

    return run


def test_without_vectors_their_probes_are_skipped_with_the_reason(
    headscope: Callable[..., tuple[int, str]],
    planted_folder: Path,
    files: tuple[Path, Path, Path],
    tmp_path: Path,
) -> None:
    code, said = headscope(
        planted_folder, "--train", files[0], "--dev", files[1], "-o", tmp_path / "r",
        "--max-epochs", "1",
    )  # fmt: skip
    assert code == 0
    assert "distance_vectors was skipped: no word vectors were given" in said
    run = open_run(tmp_path / "r")
    assert run.table("parse_probe")["probe"].to_pylist() == ["attention", "right_branching"]
    assert (run.path / "report.html").exists()


def test_what_is_wrong_is_said_before_anything_is_written(
    headscope: Callable[..., tuple[int, str]],
    planted_folder: Path,
    files: tuple[Path, Path, Path],
    tmp_path: Path,
) -> None:
    plain = tmp_path / "plain.txt"
    plain.write_text("the cat sat.\n")
    bad = tmp_path / "bad.txt"
    bad.write_text("cat 1 2\ndog 1\n")
    train, dev, output = files[0], files[1], tmp_path / "r"
    base = (planted_folder, "-o", output)
    code, said = headscope(*base, "--train", train, "--dev", plain)
    assert code == 2
    assert "plain.txt" in said
    assert "no dependencies" in said
    code, said = headscope(*base, "--train", train, "--dev", dev, "--vectors", bad)
    assert code == 2
    assert "bad.txt:2: found 1 numbers; expected a word and 2 numbers" in said
    assert not output.exists()
