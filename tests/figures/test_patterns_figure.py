"""The figure of pattern shares: what it counts and what it says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headscope.figures import draw
from headscope.figures.gallery.patterns import commonest, found, mean_shares
from headscope.figures.head_values import read_heads
from headscope.measures.patterns import PATTERNS

#: Shares of two layers of two heads, in the order of PATTERNS.
SHARES = {
    (0, 0): (1.0, 0.0, 0.0, 0.0, 0.0),
    (0, 1): (0.0, 0.5, 0.5, 0.0, 0.0),
    (1, 0): (0.0, 0.0, 0.0, 1.0, 0.0),
    (1, 1): (0.2, 0.0, 0.0, 0.0, 0.8),
}


def table() -> dict[str, list[Any]]:
    rows = [
        {"stack": "self", "layer": layer, "head": head, "pattern": name, "share": share,
         "ci_low": max(0.0, share - 0.1), "ci_high": min(1.0, share + 0.1), "n": 20}
        for (layer, head), shares in SHARES.items()
        for name, share in zip(PATTERNS, shares, strict=True)
    ]  # fmt: skip
    return {name: [row[name] for row in rows] for name in rows[0]}


def test_the_figure_counts_heads_and_shares(make_run: Callable[..., Any]) -> None:
    run = make_run((("self", 2, 2),), tables={"patterns": table()})
    values = read_heads(run.table("patterns"), what="pattern", value="share")
    assert mean_shares(values) == pytest.approx(
        {
            "vertical": 0.3,
            "vertical_diagonal": 0.125,
            "diagonal": 0.125,
            "block": 0.25,
            "heterogeneous": 0.2,
        }
    )
    assert [v.what for v in commonest(values).values()] == [
        "vertical", "diagonal", "block", "heterogeneous"
    ]  # fmt: skip
    said = found(values)
    assert "30.0 % vertical" in said
    assert "2 heads of 4 have one shape" in said
    picture = draw(run, "patterns")
    assert picture.sentence == said
    datasets = picture.spec()["datasets"]
    for layer in ("1", "2", "all"):
        shares = [r["share"] for r in datasets["layers"] if r["layer"] == layer]
        assert sum(shares) == pytest.approx(1)
    assert len(datasets["heads"]) == 4


def test_no_data_is_said(make_run: Callable[..., Any]) -> None:
    columns = table()
    columns["share"] = [float("nan")] * len(columns["share"])
    columns["n"] = [0] * len(columns["n"])
    run = make_run((("self", 2, 2),), tables={"patterns": columns})
    assert draw(run, "patterns").sentence == "No head has a map to look at."
