"""`headscope cluster` and `headscope compare --models`, as people use them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from headscope.api import analyze
from headscope.store import open_run
from tests.said import Headscope


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("corpus") / "toy.txt"
    places = (("sat", "mat"), ("ate", "tree"), ("saw", "house"))
    lines = [f"the {a} {b} on the {c}, and it ran." for a in ("cat", "dog") for b, c in places]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def measured(planted_folder: Path, toy: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "run"
    analyze(planted_folder, toy, folder, measures=["distance"])
    return folder


@pytest.fixture
def run(measured: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    return Path(shutil.copytree(measured, tmp_path / "run"))


def test_a_pass_clusters_by_itself_and_cluster_does_it_again(
    headscope: Headscope, run: Path
) -> None:
    assert {"clusters", "cluster_map", "cluster_choice"} <= set(open_run(run).tables)
    assert "clusters" in (run / "report.html").read_text(encoding="utf-8")
    said = headscope("cluster", run, "--k", "3", "--method", "gmm", "--json")
    assert said.code == 0, said.err
    (told,) = json.loads(said.out)
    assert sum(len(c["heads"]) for c in told["clusters"]) == 16
    assert len(set(open_run(run).table("clusters")["cluster"].to_pylist())) <= 3
    said = headscope("cluster", run, "--stability")
    assert said.code == 0, said.err
    assert "k = 4:" in said.out


def test_several_runs_are_compared_and_left_alone(
    headscope: Headscope, run: Path, tmp_path: Path
) -> None:
    before = open_run(run).table("clusters")
    output = tmp_path / "compared"
    said = headscope("cluster", run, run, "--apart", "-o", output)
    assert said.code == 0, said.err
    assert open_run(output).table("clusters_compared").num_rows == 32
    assert (output / "report.html").is_file()
    assert open_run(run).table("clusters").equals(before)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--k", "99"), "k is 99"),
        (("-o", "elsewhere"), "-o is for several runs"),
        (("--k", "1"), "2"),
    ],
)
def test_wrong_options_are_refused(
    headscope: Headscope, run: Path, options: tuple[str, ...], message: str
) -> None:
    said = headscope("cluster", run, *options)
    assert said.code == 2
    assert message in said.err
    assert "Traceback" not in said.err


def test_two_models_are_compared(
    headscope: Headscope, planted_folder: Path, toy: Path, tmp_path: Path
) -> None:
    output = tmp_path / "compared"
    said = headscope(
        "compare", "--models", planted_folder, planted_folder, "--corpus", toy, "-o", output
    )
    assert said.code == 0, said.err
    assert "exactly the same maps" in said.out
    compared = open_run(output)
    assert set(compared.table("similarity")["cosine"].to_pylist()) == {1.0}
    assert {"similarity_random", "features_compared", "distance_compared"} <= set(compared.tables)
    assert "Traceback" not in said.err
    again = ("compare", "--models", planted_folder, planted_folder, "--corpus", toy, "-o", output)
    assert headscope(*again).code == 2  # a finished run is in the way
    assert headscope(*again, "--resume").code == 0
    assert headscope(*again, "--resume", "--device", "nowhere").code == 2


def test_comparing_models_needs_a_corpus_and_a_place(
    headscope: Headscope, planted_folder: Path, toy: Path, tmp_path: Path
) -> None:
    models = ("--models", planted_folder, planted_folder)
    for options, message in (
        (("-o", tmp_path / "a"), "--corpus"),
        (("--corpus", toy), "-o RUN"),
        (("--corpus", tmp_path / "none.txt", "-o", tmp_path / "b"), "none.txt"),
        (("--corpus", toy, "-o", tmp_path / "c", tmp_path), "not both"),
    ):
        said = headscope("compare", *models, *options)
        assert said.code == 2, said.out
        assert message in said.err
    assert sorted(p.name for p in tmp_path.iterdir() if p.is_dir()) == []
