"""`headscope passport` and `headscope report` of several runs, as people use them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import headscope as hs
from headscope.models import LoadedModel
from tests.planted import planted
from tests.said import Headscope

TEXTS = ["the cat sat.", "a dog saw the bird, and it ran.", "he ate."]


@pytest.fixture(scope="module")
def run(planted_bert: LoadedModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("passport") / "run"
    return hs.analyze(planted_bert, TEXTS, folder, measures=["surface", "entropy"]).path


def test_it_prints_one_head(headscope: Headscope, run: Path) -> None:
    said = headscope("passport", run, "2-4")
    assert said.code == 0, said.err
    lines = said.out.splitlines()
    assert lines[0] == "Head 2-4"
    cls = next(line for line in lines if "[CLS]" in line)
    assert cls.strip().startswith("• [CLS]")
    assert "100.0 %" in cls
    assert "n = 3" in cls


def test_json_is_what_python_gives(headscope: Headscope, run: Path) -> None:
    said = headscope("passport", run, "2-4", "--json")
    assert json.loads(said.out) == hs.open_run(run).head(2, 4).to_dict()


@pytest.mark.parametrize("head", ["3-1", "0-1", "two", "cross:1-1"])
def test_a_head_that_is_none_ends_with_code_two(headscope: Headscope, run: Path, head: str) -> None:
    said = headscope("passport", run, head)
    assert (said.code, said.out) == (2, "")
    assert "head" in said.err


def test_several_runs_make_one_report_where_it_was_asked_for(
    headscope: Headscope, run: Path, tmp_path: Path
) -> None:
    before = (run / "report.html").read_bytes()
    page = tmp_path / "both.html"
    said = headscope("report", run, run, "-o", page)
    assert said.code == 0, said.err
    assert "what changed" in page.read_text(encoding="utf-8")
    refused = headscope("report", run, run)
    assert refused.code == 2
    assert "-o FILE" in refused.err
    assert (run / "report.html").read_bytes() == before
    deeper = hs.analyze(planted(3), TEXTS, tmp_path / "deep", measures=["entropy"])
    other = headscope("report", run, deeper.path, "-o", tmp_path / "x.html")
    assert other.code == 2
    assert "2 layers × 8 heads" in other.err
    assert "3 layers × 8 heads" in other.err
    assert not (tmp_path / "x.html").exists()
