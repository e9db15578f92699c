"""What the pictures of probes say, on tables made by hand."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest

from headscope.analyses.probe_groups import SEMANTIC, SYNTACTIC
from headscope.figures import draw
from headscope.figures.gallery.probe_groups import correlation
from headscope.figures.probe_panels import best_gains, cell_records
from headscope.figures.probe_scores import in_order, scores_of
from headscope.store import to_arrow

NAN = float("nan")


class FakeRun:
    """Tables without a folder."""

    record = None

    def __init__(self, **tables: pa.Table) -> None:
        self._tables = tables
        self.tables = tuple(tables)

    def table(self, name: str) -> pa.Table:
        return self._tables[name]


def row(task: str, representation: str, test: float, **more: Any) -> dict[str, Any]:
    plain = {
        "layer": None, "head": None, "n_heads": None, "rank": None, "metric": "accuracy",
        "validation": test, "ci_low": test - 0.05, "ci_high": test + 0.05, "control": 0.5,
        "p_value": 0.001, "q_value": 0.01, "l2": 0.1, "n": 200, "stack": "self",
    }  # fmt: skip
    return {**plain, "task": task, "representation": representation, "test": test, **more}


def run_of(rows: list[dict[str, Any]]) -> FakeRun:
    names = dict.fromkeys(r["task"] for r in rows)
    about = [
        {
            "task": name, "metric": "accuracy", "n_classes": 2, "n_train": 100, "n_validation": 20,
            "n_test": 200, "chance": 0.5, "pairs": False, "seconds": 1.0,
        }
        for name in names
    ]  # fmt: skip
    columns = {k: [r[k] for r in rows] for k in rows[0]}
    return FakeRun(
        probe=to_arrow("probe", columns),
        probe_tasks=to_arrow("probe_tasks", {k: [r[k] for r in about] for k in about[0]}),
    )


def task_rows(task: str, heads: list[float], last: float, best: float, top: float) -> Any:
    found = [
        row(task, "head", score, layer=i // 2, head=i % 2, q_value=0.01 if score > 0.6 else 0.4)
        for i, score in enumerate(heads)
    ]
    found += [row(task, "last", last, layer=1), row(task, "best", best, layer=0)]
    return [
        *found,
        row(task, "top_n", top - 0.02, n_heads=1, validation=0.6),
        row(task, "top_n", top, n_heads=2, validation=0.7),
        row(task, "top_n", top + 0.01, n_heads=4, validation=0.75),
    ]


@pytest.fixture
def run() -> FakeRun:
    return run_of(
        [
            *task_rows("bigram_shift", [0.7, 0.55, 0.8, 0.5], 0.6, 0.7, 0.82),
            *task_rows("sentence_length", [0.9, 0.85, 0.5, 0.5], 0.9, 0.91, 0.85),
        ]
    )


def test_tasks_stand_in_the_papers_order() -> None:
    assert in_order(["MRPC", "bigram_shift", "sentence_length", "MRPC"]) == [
        "sentence_length", "bigram_shift", "MRPC",
    ]  # fmt: skip


def test_the_best_head_is_the_one_validation_prefers(run: FakeRun) -> None:
    picture = draw(run, "probe")
    assert "sentence length is what one head alone tells best: 1-1" in picture.sentence
    assert "scores 90.0 % on 200 test rows (50.0 % after learning shuffled labels)" in (
        picture.sentence
    )
    assert picture.table is not None
    assert picture.table.rows[1][2:5] == ("2-1", "80.0 %", "80.0 %")


def test_cells_are_shares_of_the_best_gain_and_empty_below_chance(run: FakeRun) -> None:
    heads = [s for s in scores_of(run) if s.representation == "head"]
    cells = {(c["panel"], c["label"]): c for c in cell_records(heads, best_gains(heads))}
    assert cells["/bigram_shift", "head 2-1"]["share"] == 1.0
    assert cells["/bigram_shift", "head 1-1"]["share"] == pytest.approx(0.2 / 0.3, abs=1e-3)
    assert cells["/bigram_shift", "head 1-2"]["share"] is None
    assert cells["/bigram_shift", "head 2-2"]["place"] == 2


def test_top_heads_are_counted_against_both_layers(run: FakeRun) -> None:
    sentence = draw(run, "probe_top_heads").sentence
    assert "The 2 heads that do best on validation rows beat the last layer on 1 of 2 tasks" in (
        sentence
    )
    assert "median +8.5 points; on 1 the intervals are apart" in sentence
    assert "the best layer on 1; not on sentence length." in sentence


def test_the_curve_says_what_more_heads_are_worth(run: FakeRun) -> None:
    sentence = draw(run, "probe_curve").sentence
    assert sentence == (
        "Validation prefers more than 2 heads on 2 of 2 tasks; on test rows the number it prefers "
        "is worth +1.0 points on average over 2 heads."
    )


def test_layers_are_named_where_tasks_live(run: FakeRun) -> None:
    sentence = draw(run, "probe_sorted").sentence
    assert "lower half of the layers for sentence length (1)" in sentence
    assert "upper half of the layers for bigram shift (2)" in sentence


def test_syntax_and_meaning_correlate() -> None:
    assert SYNTACTIC == ("tree_depth", "top_constituents", "bigram_shift")
    assert len(SEMANTIC) == 5
    points = [(0.3, 0.6), (0.35, 0.62), (0.4, 0.7), (0.33, 0.59), (0.5, 0.8)]
    columns = {
        "layer": [0, 0, 1, 1, 2],
        "head": [0, 1, 0, 1, 0],
        "syntactic": [x for x, _ in points],
        "semantic": [y for _, y in points],
        "n_syntactic": [3] * 5,
        "n_semantic": [5] * 5,
    }
    picture = draw(FakeRun(probe_groups=to_arrow("probe_groups", columns)), "probe_groups")
    assert "5 heads correlate at r = 0.98 (95 % interval" in picture.sentence
    assert "layer 3 score highest" in picture.sentence
    assert all(math.isnan(x) for x in correlation([]))


def test_no_data_is_said(run: FakeRun) -> None:
    rows = [row("t", "head", NAN, layer=0, head=h, validation=NAN, q_value=1.0) for h in range(2)]
    rows += [row("t", "last", NAN, layer=0), row("t", "best", NAN, layer=0)]
    empty = run_of(rows)
    for name in ("probe", "probe_sorted", "probe_top_heads", "probe_curve"):
        assert draw(empty, name).spec()
    assert "no data" in draw(empty, "probe").sentence
