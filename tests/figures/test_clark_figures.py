"""Parser, coreference and the map, drawn from tables that the measures made of planted heads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headscope.engine import Settings
from headscope.engine.shard import run_shard
from headscope.figures import available, draw, export_figure, render_report
from headscope.measures import Total, build
from headscope.store import Run
from headscope.types import Dependencies, Mention
from tests.figures.conftest import MakeRun
from tests.planted import encode_planted, planted

FIGURES = ("parser", "parser_sentence", "coreference", "head_map")


@pytest.fixture(scope="module")
def tables() -> Mapping[str, Any]:
    tree = Dependencies(
        (2, 2, 3, -1, 6, 6, 3, 3), ("det", "amod", "nsubj", "root", "case", "det", "obl", "punct")
    )
    mentions = (Mention("d", 0, 3), Mention("m", 5, 7))
    one = encode_planted(
        "the big dog played on a mat.", name="dog", dependencies=tree, mentions=mentions
    )
    two = encode_planted(
        "the big dog saw the dog and it ran.",
        name="two",
        mentions=(Mention("d", 0, 3), Mention("d", 4, 6), Mention("d", 7, 8)),
    )
    copies = [
        replace(e, sequence=replace(e.sequence, id=f"{e.sequence.id}{i}"))
        for i in range(12)
        for e in (one, two)
    ]
    model = planted()
    found: dict[str, Any] = {}
    for name in ("surface", "entropy", "parser", "coreference", "divergence"):
        measure = build(name)
        values = run_shard(model, [measure], copies, Settings())
        total = Total(model.layout, {place: v for (_, place), v in values.items()})
        found.update(measure.finish(total).tables)
    return found


@pytest.fixture
def run(make_run: MakeRun, tables: Mapping[str, Any]) -> Run:
    return make_run((("self", 2, 8),), tables=tables)


def test_every_figure_is_there_and_says_something(run: Run) -> None:
    names = [unit.name for unit in available(run)]
    assert [name for name in names if name in FIGURES] == list(FIGURES)
    for name in FIGURES:
        picture = draw(run, name)
        assert picture.sentence.endswith(".")
        assert picture.sentence in picture.alt
        assert picture.note
        assert picture.table is not None
        assert picture.table.rows


def test_sentences_are_computed_from_the_tables(run: Run) -> None:
    # big stands right before dog in every copy: fixed distance and head agree, no head wins
    parser = draw(run, "parser")
    assert parser.table is not None
    amod = next(row for row in parser.table.rows if row[0] == "amod")
    assert amod[3] == "100.0 %"
    assert amod[6] == "100.0 % (+1)"
    assert "big → dog" in amod[10]
    coreference = draw(run, "coreference")
    assert "48" not in coreference.sentence.split("mentions")[0]
    assert "24 mentions" in coreference.sentence  # two links in each of twelve copies
    head_map = draw(run, "head_map")
    assert "0.000" in head_map.sentence  # both layers are alike


def test_map_marks_what_surface_says(run: Run) -> None:
    points = draw(run, "head_map").spec()["datasets"]["points"]
    marks = {p["label"]: p["behaviour"] for p in points}
    assert marks["1-2"] == "to the previous token"
    assert marks["1-4"] == "to [CLS]"
    assert marks["2-5"] == "to [SEP]"


def test_report_and_images(run: Run, tmp_path: Path) -> None:
    page = render_report(run)
    for name in FIGURES:
        assert f'id="{name}"' in page
        image = export_figure(run, name, tmp_path / f"{name}.png")
        assert image.read_bytes().startswith(b"\x89PNG")


def test_hostile_words_are_escaped(make_run: MakeRun, tables: Mapping[str, Any]) -> None:
    bad = dict(tables["parser_examples"])
    bad["sentence"] = ["<script>alert(1)</script>"] * len(bad["sentence"])
    run = make_run((("self", 2, 8),), tables={**tables, "parser_examples": bad})
    assert "<script>alert(1)" not in render_report(run)
