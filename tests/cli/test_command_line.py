"""The command line as people use it: output, exit codes, and what is left on the disk."""

from __future__ import annotations

import gzip
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.said import Headscope

#: Tiny models need no threads, and tests run side by side.
ONE_THREAD = {**os.environ, "OMP_NUM_THREADS": "1"}


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    path = tmp_path / "toy.txt"
    path.write_text("the cat sat.\na dog saw the bird, and it ran.\nhe ate.\n", encoding="utf-8")
    return path


@pytest.fixture
def run(headscope: Headscope, planted_folder: Path, toy: Path, tmp_path: Path) -> Path:
    said = headscope("analyze", planted_folder, "-c", toy, "-o", tmp_path / "run")
    assert said.code == 0, said.err
    return tmp_path / "run"


def test_analyze_says_what_it_found(
    headscope: Headscope, planted_folder: Path, toy: Path, tmp_path: Path
) -> None:
    said = headscope(
        "analyze", planted_folder, "-c", toy, "-o", tmp_path / "r", "--measures", "surface"
    )
    assert said.code == 0
    assert "2 layers × 8 heads" in said.out
    assert "3 sequences" in said.out
    assert said.err == "", "quiet when not a terminal"
    assert (tmp_path / "r" / "report.html").stat().st_size > 1000


def test_analyze_as_json_and_parameters(
    headscope: Headscope, planted_folder: Path, toy: Path, tmp_path: Path
) -> None:
    said = headscope(
        "analyze", planted_folder, "-c", toy, "-o", tmp_path / "r", "--json",
        "--measures", "entropy", "--set", "entropy.smoothing=1e-4",
    )  # fmt: skip
    told = json.loads(said.out)
    assert told["tables"] == ["entropy"]
    assert told["counts"]["n_sequences"] == 3
    record = json.loads((tmp_path / "r" / "run.json").read_text())
    assert record["request"]["measures"][0]["parameters"] == {"smoothing": 1e-4}


def test_several_files_after_one_option(
    headscope: Headscope, planted_folder: Path, toy: Path, tmp_path: Path
) -> None:
    more = tmp_path / "more.txt.gz"
    more.write_bytes(gzip.compress(b"she sat on the mat.\n"))
    said = headscope(
        "analyze", planted_folder, "--corpus", toy, more, "-o", tmp_path / "r", "--json",
        "--measures", "surface",
    )  # fmt: skip
    assert json.loads(said.out)["counts"]["n_sequences"] == 4


def test_query_report_figure_and_export(headscope: Headscope, run: Path, tmp_path: Path) -> None:
    rows = json.loads(
        headscope("query", run, "select * from surface order by mean desc limit 5", "--json").out
    )
    assert len(rows) == 5
    assert rows[0]["mean"] == pytest.approx(1, abs=1e-6)
    text = headscope("query", run, "select count(*) as n from surface").out
    assert text.splitlines()[0] == '"n"'
    bad = headscope("query", run, "select nothing from nowhere")
    assert bad.code == 2
    assert "nowhere" in bad.err
    page = tmp_path / "page.html"
    assert headscope("report", run, "-o", page).code == 0
    assert page.read_text(encoding="utf-8").startswith("<!")
    image = tmp_path / "s.svg"
    assert headscope("figure", run, "surface", "-o", image).code == 0
    assert image.read_bytes().lstrip().startswith(b"<svg")
    listed = json.loads(headscope("figure", run, "--json").out)
    assert {"surface", "entropy"} <= {figure["name"] for figure in listed}
    exported = headscope("export", run, "--csv", "-o", tmp_path / "csv")
    assert str(tmp_path / "csv" / "surface.csv") in exported.out
    assert headscope("export", run, "--json", "--csv").code == 2
    assert headscope("export", run, "--csv", "-o", tmp_path / "csv").code == 2


def test_lists(headscope: Headscope, planted_folder: Path) -> None:
    names = {row["name"] for row in json.loads(headscope("measures", "--json").out)}
    assert {"surface", "entropy"} <= names
    assert "Clark" in headscope("measures", "entropy").out
    assert "openai-gpt" in headscope("models").out
    told = json.loads(headscope("models", planted_folder, "--json").out)
    assert told["stacks"] == [{"stack": "self", "n_layers": 2, "n_heads": [8, 8], "causal": False}]


def _text(content: str | bytes) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        path = folder / "bad.txt"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def _named(name: str, content: str) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        (folder / name).write_text(content, encoding="utf-8")
        return folder / name

    return write


def _row(index: int, word: str, head: int, relation: str) -> str:
    return f"{index}\t{word}\t{word}\tNOUN\tNN\t_\t{head}\t{relation}\t_\t_\n"


def _truncated(folder: Path) -> Path:
    path = folder / "bad.txt.gz"
    path.write_bytes(gzip.compress(b"the cat sat.\n" * 500)[:-20])
    return path


BAD_INPUT: dict[str, tuple[Callable[[Path], Path], str]] = {
    "not UTF-8": (_text(b"the cat\n\xff\xfe sat\n"), r":2: .*UTF-8"),
    "wrong column count": (_named("b.conllu", "1\tcat\tcat\n\n"), r":1: found 3 columns"),
    "head out of range": (_named("b.conllu", _row(1, "cat", 7, "root") + "\n"), r":1: .*7"),
    "a cycle": (
        _named(
            "b.conllu",
            _row(1, "cat", 0, "root") + _row(2, "a", 3, "dep") + _row(3, "b", 2, "dep") + "\n",
        ),
        "cycle",
    ),
    "unclosed coreference": (
        _named("b.conll", "# begin document d\n0\tcat\t(1\n1\tsat\t_\n# end document\n"),
        r":2: .*1",
    ),
    "empty file": (_text(""), "no sequences"),
    "empty sentence": (
        _named("b.conllu", _row(1, "cat", 0, "root") + "\n# sent_id = 2\n\n"),
        r":[23]: .*without words",
    ),
    "a word the tokenizer drops": (
        _named("b.jsonl", json.dumps({"words": ["the", "\u200b", "cat"]}) + "\n"),
        r":1: ",
    ),
    "a very long line": (_text("a" * 100_000 + "\n"), r":1: .*100,?000"),
    "a directory": (lambda folder: folder, "directory"),
    "a missing file": (lambda folder: folder / "nowhere.txt", "nowhere.txt"),
    "a truncated gzip": (_truncated, "gzip|truncated|compressed"),
}


@pytest.mark.parametrize("what", BAD_INPUT)
def test_bad_input_is_refused(
    what: str, headscope: Headscope, planted_folder: Path, tmp_path: Path
) -> None:
    import re

    make, expected = BAD_INPUT[what]
    (tmp_path / "in").mkdir()
    path = make(tmp_path / "in")
    said = headscope("analyze", planted_folder, "-c", path, "-o", tmp_path / "run")
    assert said.code == 2
    assert re.search(expected, said.err), said.err
    assert path.name in said.err
    assert len(said.err.strip().splitlines()) == 1
    assert "Traceback" not in said.err
    assert not (tmp_path / "run").exists()


def test_wrong_requests_are_refused(
    headscope: Headscope, planted_folder: Path, toy: Path, run: Path, tmp_path: Path
) -> None:
    fresh = tmp_path / "fresh"
    base = ["analyze", planted_folder, "-c", toy, "-o"]
    assert "finished run" in headscope(*base, run).err
    for extra, message in (
        (["--measures", "entropi"], "did you mean 'entropy'"),
        (["--set", "entropy.smoothing"], "measure.parameter=value"),
        (["--set", "entropy.smoothing=5"], "entropy.smoothing"),
        (["--max-tokens", "4000"], "at most 40"),
        (["--reader", "morse"], "morse"),
    ):
        said = headscope(*base, fresh, *extra)
        assert said.code == 2, extra
        assert message in said.err
        assert not fresh.exists()
    assert headscope("analyze", tmp_path / "no-model", "-c", toy, "-o", fresh).code == 2
    assert headscope("analyze", planted_folder, "-o", fresh).code == 2
    assert headscope("query", tmp_path, "select 1").code == 2
    assert not fresh.exists()


def test_help_is_fast_because_torch_stays_out() -> None:
    code = (
        "import sys; sys.argv = ['headscope', '--help']\n"
        "from headscope.cli import main\n"
        "try: main()\n"
        "except SystemExit as stop: assert not stop.code\n"
        "heavy = {'torch', 'transformers', 'numpy', 'pyarrow', 'duckdb', 'altair', 'sklearn'}\n"
        "sys.exit(f'loaded: {heavy & set(sys.modules)}' if heavy & set(sys.modules) else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "analyze" in done.stdout


def test_opening_a_run_never_loads_torch(run: Path) -> None:
    code = (
        "import sys, headscope as hs\n"
        f"run = hs.open_run({str(run)!r})\n"
        "run.table('surface'); run.query('select 1'); run.report(); run.figure('entropy')\n"
        "sys.exit('loaded torch' if 'torch' in sys.modules else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_killed_three_times_and_resumed_is_the_same_byte_for_byte(
    planted_folder: Path, tmp_path: Path
) -> None:
    rng = random.Random(7)
    words = [
        "the",
        "a",
        "cat",
        "dog",
        "bird",
        "mouse",
        "sat",
        "saw",
        "ran",
        "ate",
        "big",
        "small",
        "red",
        "old",
        "she",
        "he",
        "it",
    ]
    corpus = tmp_path / "many.txt"
    corpus.write_text(
        "".join(" ".join(rng.choices(words, k=rng.randint(2, 30))) + ".\n" for _ in range(120)),
        encoding="utf-8",
    )

    def command(output: Path) -> list[str]:
        return [
            sys.executable, "-m", "headscope", "analyze", str(planted_folder), "-c", str(corpus),
            "-o", str(output), "--shard-size", "2", "--measures", "surface,entropy", "--resume",
        ]  # fmt: skip

    whole, broken = tmp_path / "whole", tmp_path / "broken"
    subprocess.run(command(whole), check=True, capture_output=True, env=ONE_THREAD)
    for kill in range(3):
        child = subprocess.Popen(command(broken), stdout=subprocess.DEVNULL, env=ONE_THREAD)
        target = _n_checkpoints(broken) + rng.randint(1, 15)
        while child.poll() is None and _n_checkpoints(broken) < target:
            time.sleep(0.001)
        assert child.poll() is None, f"finished before kill {kill + 1}"
        child.send_signal(signal.SIGKILL)
        child.wait()
    subprocess.run(command(broken), check=True, capture_output=True, env=ONE_THREAD)
    for table in (whole / "tables").iterdir():
        assert table.read_bytes() == (broken / "tables" / table.name).read_bytes()


def _n_checkpoints(run: Path) -> int:
    return len(list((run / "checkpoints").glob("shard-*.safetensors")))
