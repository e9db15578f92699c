"""Figures of features, links, the [CLS] row, frames and comparisons: what they say and draw."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from headscope.figures import draw, export_figure, render_report
from headscope.store import Run
from tests.figures.conftest import MakeRun

NAN = math.nan


def rows(label: str, names: list[str], mean: str = "mean", **fixed: Any) -> dict[str, list[Any]]:
    """2 layers × 2 heads; the value grows with layer, head and name."""
    table: dict[str, list[Any]] = {}
    for layer in range(2):
        for head in range(2):
            for i, name in enumerate(names):
                value = 0.05 + 0.1 * layer + 0.02 * head + 0.01 * i
                row = {"layer": layer, "head": head, mean: value, **fixed, "n": 40}
                if label:
                    row[label] = name
                row |= {"ci_low": value - 0.01, "ci_high": value + 0.01}
                for key, cell in row.items():
                    table.setdefault(key, []).append(cell)
    return table


@pytest.fixture
def shapes(make_run: MakeRun) -> Run:
    frames = rows("", ["x"], "mean_max", n_movable=40)
    frames |= {
        "baseline": [0.04, 0.09, 0.1, NAN],
        "p_value": [0.5, 0.9, 0.001, NAN],
        "q_value": [0.75, 0.9, 0.003, NAN],
        "above": [False, False, True, False],
    }
    frames["mean_max"][3] = NAN
    cosine = rows("", ["x"], "cosine")
    cosine["cosine"] = [1.0, 0.9, 0.8, 0.7]
    both = rows("feature", ["noun", "cls"])
    other = {k: list(v) for k, v in both.items()}
    other["mean"][0] = 0.35
    other["ci_low"][0], other["ci_high"][0] = 0.3, 0.4
    compared = {k: [*both[k], *other[k]] for k in both}
    compared["model"] = ["old"] * len(both["mean"]) + ["new"] * len(both["mean"])
    return make_run(
        (("self", 2, 2),),
        tables={
            "features": rows("feature", ["noun", "negation", "cls"]),
            "links": rows("link", ["verb_to_subject", "noun_to_pronoun"]),
            "cls_row": rows("target", ["cls", "sep", "other", "noun"], even=0.05),
            "frames": frames,
            "similarity": cosine,
            "features_compared": compared,
        },
    )


def test_sentences_are_computed_from_the_tables(shapes: Run) -> None:
    said = {
        name: draw(shapes, name).sentence
        for name in ("features", "links", "cls_row", "frames", "similarity", "features_compared")
    }
    assert "Of negation words by head 2-2: 18.0 %" in said["features"]
    assert "of [CLS] by head 2-2: 19.0 %" in said["features"]
    assert "noun → pronoun in 2-2, 95 % interval 17.0–19.0 %" in said["links"]
    # the mean of the two heads of layer 2: 0.16 + 0.02 for `other`, the last share of four
    assert "In layer 2, the last, the [CLS] row gives 18.0 % to all other tokens" in said["cls_row"]
    assert "nouns, 3.8 times its even share" in said["cls_row"]
    assert "Head 2-1 links the words of a frame most strongly, 15.0 %" in said["frames"]
    assert "1 of 3 heads exceed random pairs" in said["frames"]
    assert "Head 2-2 changed most (cosine 0.700" in said["similarity"]
    assert "layer 2 of all layers (mean 0.750)" in said["similarity"]
    changed = said["features_compared"]
    assert "head 1-1 for nouns: from 5.0 % to 35.0 % (+30.0 points" in changed
    assert "do not overlap" in changed


@pytest.mark.parametrize(
    "name", ["features", "links", "cls_row", "frames", "similarity", "features_compared"]
)
def test_figures_can_be_drawn(shapes: Run, name: str, tmp_path: Path) -> None:
    path = export_figure(shapes, name, tmp_path / f"{name}.svg")
    text = path.read_text(encoding="utf-8")
    assert text.startswith("<svg")
    assert "NaN" not in text
    table = draw(shapes, name).table
    assert table is not None
    assert table.rows


def test_the_report_has_them_all(shapes: Run) -> None:
    page = render_report(shapes)
    assert "Heads that link the words of a semantic frame" in page
    assert "What the [CLS] token looks at" in page


def test_equal_models_are_said_to_be_equal(make_run: MakeRun) -> None:
    table = rows("", ["x"], "cosine")
    table["cosine"] = [1.0] * 4
    run = make_run((("self", 2, 2),), tables={"similarity": table})
    assert "All 4 heads have exactly the same maps" in draw(run, "similarity").sentence
