"""A head's passport says what the tables say, as people name heads, and escapes everything."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headscope as hs
from headscope.errors import UsageError
from headscope.figures import PASSPORT, Row, passport_of
from headscope.figures.atlas.plain_text import plain_text
from headscope.models import LoadedModel
from headscope.types import HeadId
from tests.figures.atlas_tables import every_table

HOSTILE = "</script><img src=x onerror=alert(1)>\u202eevil\u200b\x1b[31m"


@pytest.fixture(scope="module")
def full(make_run: Any) -> hs.Run:
    run = make_run((("self", 3, 4),), tables=every_table(3, 4))
    return hs.open_run(run.path)


def rows(passport_: Any, section: str) -> dict[str, dict[str, Any]]:
    part = next(s for s in passport_.to_dict()["sections"] if s["name"] == section)
    return {row["label"]: row for row in part["rows"]}


def test_people_count_from_one_and_tables_from_zero(full: hs.Run) -> None:
    found = full.head(3, 1)
    assert (
        found.to_dict() == full.head("3-1").to_dict() == passport_of(full, HeadId(2, 0)).to_dict()
    )
    assert found.to_dict()["head"] == "3-1"
    table = full.table("surface").to_pylist()
    cell = next(r for r in table if (r["layer"], r["head"], r["target"]) == (2, 0, "sep"))
    row = rows(found, "surface")["[SEP]"]
    assert row["number"] == pytest.approx(cell["mean"], rel=1e-4)
    assert row["value"] == f"{cell['mean'] * 100:.1f} %"
    assert row["interval"] == f"{cell['ci_low'] * 100:.1f}–{cell['ci_high'] * 100:.1f} %"
    assert (row["n"], row["bar"]) == (66, pytest.approx(cell["mean"], abs=1e-4))


@pytest.mark.parametrize("wrong", [(0, 1), (4, 1), (1, 5), ("3",), ("0-1",), ("cross:1-1",), (3,)])
def test_a_head_that_is_none_is_refused(full: hs.Run, wrong: tuple[Any, ...]) -> None:
    with pytest.raises(UsageError, match="head"):
        full.head(*wrong)


def test_every_section_speaks_of_every_head(full: hs.Run) -> None:
    told = full.head("2-3").to_dict()["sections"]
    assert [part["name"] for part in told] == [
        unit.name for unit in sorted(PASSPORT.values(), key=lambda u: (u.order, u.name))
    ]
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    for part in told:
        assert part["rows"], part["name"]
        for row in part["rows"]:
            assert 0 <= row.get("bar", 0) <= 1
            assert row.get("value") or row.get("text")


def test_what_a_run_lacks_is_left_out(make_run: Any) -> None:
    tables = {"entropy": every_table(1, 2)["entropy"]}
    found = passport_of(make_run((("self", 1, 2),), tables=tables), "1-2")
    assert [part["name"] for part in found.to_dict()["sections"]] == ["entropy"]
    empty = passport_of(make_run((("self", 1, 2),), tables={"head_map": _map()}), "1-2")
    assert "no table" in str(empty)
    assert "1-2" in empty._repr_html_()


def _map() -> dict[str, list[Any]]:
    return {"layer": [0], "head": [0], "x": [0.0], "y": [1.0]}


def test_the_best_relations_are_those_furthest_above_the_baseline(full: hs.Run) -> None:
    table = full.table("parser").to_pylist()
    mine = {r["relation"]: r for r in table if (r["layer"], r["head"]) == (1, 1)}
    best = sorted((r for r in mine if r != "all"), key=lambda r: -mine[r]["accuracy"])[:5]
    found = rows(full.head(2, 2), "parser")
    assert list(found) == ["all words (UAS)", *best]  # one baseline for all: ranked by accuracy
    top = found[best[0]]
    assert f"{(mine[best[0]]['accuracy'] - 0.4) * 100:+.1f} points" in top["text"]
    assert top.get("strong", False) == (mine[best[0]]["ci_low"] > 0.4)


def test_the_nearest_heads_are_nearest_by_the_table_in_either_order(full: hs.Run) -> None:
    pairs = full.table("divergence").to_pylist()
    distance = {}
    for pair in pairs:
        a, b = (pair["layer_a"], pair["head_a"]), (pair["layer_b"], pair["head_b"])
        if (1, 1) in (a, b):
            distance[b if a == (1, 1) else a] = pair["js_nats"]
    expected = sorted(distance, key=lambda place: distance[place])[:5]
    found = list(rows(full.head(2, 2), "divergence"))
    assert found == [f"{layer + 1}-{head + 1}" for layer, head in expected]


def test_roles_carry_intervals_and_p_values(full: hs.Run) -> None:
    table = full.table("roles").to_pylist()
    cell = next(r for r in table if (r["layer"], r["head"], r["role"]) == (0, 0, "obj"))
    row = rows(full.head(1, 1), "roles")["object"]
    assert row.get("strong", False) == cell["assigned"]
    assert row["interval"] == f"{cell['ci_low']:.2f}–{cell['ci_high']:.2f}"
    p = cell["p_value"]
    assert row["text"].startswith("p < 0.001" if p < 0.001 else f"p = {p:.3f}")


def test_no_data_is_never_a_number() -> None:
    assert Row("x").to_dict() == {"label": "x", "value": "no data"}
    assert Row("x", math.nan, low=math.nan, high=math.nan, n=0, full=1.0).to_dict()["n"] == 0
    assert "bar" not in Row("x", -0.2, unit="number", full=1.0).to_dict()
    assert "bar" not in Row("x", 0.2, full=0.0).to_dict()


def test_text_cannot_hide_turn_or_command() -> None:
    shown = plain_text(HOSTILE)
    assert shown.isprintable()
    assert "⟨U+202E⟩evil⟨U+200B⟩⟨U+001B⟩[31m" in shown
    assert len(plain_text("x" * 1_000_000)) == 400
    assert plain_text("می‌خواهم 👩‍🔬") == "می‌خواهم 👩‍🔬"  # joiners that scripts need


def test_hostile_words_are_escaped_in_a_notebook_and_harmless_in_a_terminal(make_run: Any) -> None:
    tables = every_table(1, 2, words=HOSTILE + "x" * 1_000_000)
    tables["roles"]["role"] = [HOSTILE] * len(tables["roles"]["role"])
    tables["clusters"]["name"] = [HOSTILE] * len(tables["clusters"]["name"])
    found = passport_of(make_run((("self", 1, 2),), tables=tables), 1, 1)
    html, text = found._repr_html_(), str(found)
    assert "&lt;/script&gt;" in html
    for bad in ("<img", "<script", "</script", "\u202e", "\u200b", "\x1b"):
        assert bad not in html
    assert all(line.isprintable() for line in text.splitlines())
    assert len(html) < 60_000


def test_planted_heads_have_the_passports_they_were_made_for(
    planted_bert: LoadedModel, tmp_path: Path
) -> None:
    texts = [
        "the cat sat on the mat .",
        "a dog saw the bird , and it ran .",
        "she ate a red mouse .",
    ]
    measures = ["surface", "entropy", "sieve", "distance", "divergence"]
    run = hs.analyze(planted_bert, texts * 8, tmp_path / "run", measures=measures)
    lengths = np.array([9, 12, 8])  # with [CLS] and [SEP]
    previous = rows(run.head(1, 2), "surface")["previous token"]
    assert previous["number"] == pytest.approx(np.mean((lengths - 1) / lengths), abs=1e-4)
    assert previous["strong"]
    assert rows(run.head("2-4"), "surface")["[CLS]"]["value"] == "100.0 %"
    assert rows(run.head(2, 7), "entropy")["entropy of all rows"]["number"] == pytest.approx(
        np.mean(np.log(lengths)), abs=1e-3
    )
    nearest = rows(run.head(1, 2), "divergence")
    assert next(iter(nearest)) == "2-2"  # both layers are alike
    assert nearest["2-2"]["number"] == pytest.approx(0, abs=1e-6)
    assert rows(run.head(1, 5), "roles")["[SEP]"].get("strong")
    assert not rows(run.head(1, 7), "roles")["[SEP]"].get("strong")
