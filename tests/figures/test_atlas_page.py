"""The atlas as a page: what it says first, how large it is, what it refuses, what it escapes."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html import unescape
from typing import Any

import pytest

import headscope as hs
from headscope.errors import UsageError
from headscope.figures import draw, render_atlas, render_report
from headscope.figures.atlas.compared import differences, run_names
from headscope.figures.atlas.kinds import kinds_of
from headscope.figures.atlas.run_heads import shapes_of
from headscope.figures.atlas.summary import summary
from tests.figures.atlas_tables import columns, every_table

HOSTILE = "</script><script>alert('x')</script><img src=x onerror=alert(1)>\u202eevil\u200b"


def role_table(assigned: dict[str, list[tuple[int, int]]], n_layers: int, n_heads: int) -> Any:
    return columns(
        [
            {
                "layer": i, "head": j, "role": role, "mean": 4.0, "ci_low": 3.5, "ci_high": 4.5,
                "z": 9.0, "p_value": 0.0, "q_value": 0.0, "assigned": (i, j) in places,
            }
            for i in range(n_layers)
            for j in range(n_heads)
            for role, places in assigned.items()
        ]
    )  # fmt: skip


def told(run: Any) -> list[str]:
    return summary(run, kinds_of(run), shapes_of(run))


def test_three_sentences_say_how_many_what_and_where(make_run: Any) -> None:
    # layer 1: three local heads, one of which is syntactic; layer 6: two [SEP] heads; 7 of 12 none
    roles = role_table(
        {"prev_local": [(0, 0), (0, 1), (1, 0)], "obj": [(0, 1)], "sep": [(5, 0), (5, 1)]}, 6, 2
    )
    accuracy = {("obj", 0, 1): 0.8, ("det", 2, 0): 0.9, ("obj", 3, 0): 0.5}
    parser = columns(
        [
            {
                "layer": i, "head": j, "direction": "dependent_to_head", "relation": relation,
                "accuracy": x, "ci_low": x, "ci_high": x, "n": 100,
            }
            for (relation, i, j), x in accuracy.items()
        ]
    )  # fmt: skip
    baseline = {"relation": ["obj", "det"], "offset": [1, 1], "accuracy": [0.4, 0.7], "n": [9, 9]}
    tables = {"roles": roles, "parser": parser, "parser_baseline": baseline}
    sentences = told(make_run((("self", 6, 2),), tables=tables))
    assert sentences == [
        "Among 12 heads there are 3 local heads, 2 delimiter and 1 syntactic head; 1 is of several "
        "kinds and 7 have no role that could be found.",
        "The heads that know most syntax beyond a fixed offset are 1-2 for obj (80.0 %, fixed "
        "offset 40.0 %) and 3-1 for det (90.0 %, fixed offset 70.0 %).",
        "Local heads sit mostly in the lower layers (3 of 3 in layers 1–2) and delimiter heads in "
        "the upper layers (2 of 2 in layers 5–6).",
    ]


def test_without_roles_the_summary_comes_from_clusters_then_from_the_surface(make_run: Any) -> None:
    tables = every_table(3, 4)
    clusters = told(make_run((("self", 3, 4),), tables={"clusters": tables["clusters"]}))
    assert clusters[0].startswith("Among 12 heads there are 3 dense & vertical heads")
    surface = make_run((("self", 3, 4),), tables={"surface": tables["surface"]})
    n = len(
        {
            (r["layer"], r["head"])
            for r in surface.table("surface").to_pylist()
            if r["mean"] > 0.5 and r["target"] != "other"
        }
    )
    assert told(surface)[0].startswith(f"Of 12 heads, {n} put more than half of their attention")
    assert told(make_run((("self", 1, 1),), tables={"head_map": _map()})) == []


def _map() -> dict[str, list[Any]]:
    return {"layer": [0], "head": [0], "x": [0.0], "y": [1.0]}


def test_a_model_of_twelve_by_twelve_stays_under_five_megabytes(
    measured: hs.Run, make_run: Any
) -> None:
    page = (measured.path / "report.html").read_bytes()
    data = atlas(page.decode())
    assert len(data["heads"]) == 144
    shown = set(data["runs"][0]["passports"]["12-12"])
    assert {"surface", "roles", "distance", "entropy", "parser", "divergence"} <= shown
    # tables that no pass writes, such as probes and ablations, would add at most this much
    every = render_atlas(make_run((("self", 12, 12),), tables=every_table(12, 12)))
    assert set(atlas(every)["runs"][0]["passports"]["12-12"]) == {s["name"] for s in _units(every)}
    assert len(page) + len(every.encode()) < 5_000_000


def _units(page: str) -> Any:
    return atlas(page)["sections"]


def atlas(html: str) -> Any:
    return json.loads(re.search(r'id="atlas-data">(.*?)</script>', html, re.DOTALL)[1])  # type: ignore[index]


def test_the_page_holds_the_rows_of_the_passports(make_run: Any) -> None:
    run = hs.open_run(make_run((("self", 2, 3),), tables=every_table(2, 3)).path)
    data = atlas(render_atlas(run))
    packed = data["runs"][0]["passports"]["2-3"]
    for part in run.head("2-3").to_dict()["sections"]:
        rows = [
            {
                name: (data["strings"][x] if name in data["texts"] else x)
                for name, x in zip(data["fields"], row, strict=False)
                if x is not None
            }
            for row in packed[part["name"]]
        ]
        expected = [{k: (1 if v is True else v) for k, v in row.items()} for row in part["rows"]]
        assert rows == expected


def test_a_page_for_a_notebook_has_no_charts_and_its_own_policy(make_run: Any) -> None:
    run = hs.open_run(make_run((("self", 2, 3),), tables=every_table(2, 3)).path)
    shown = run.atlas()
    assert "vegaEmbed = " not in shown.page
    assert len(shown.page) < 250_000
    scripts = re.findall(r"<script>(.*?)</script>", shown.page, re.DOTALL)
    hashes = [base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in scripts]
    assert re.findall(r"'sha256-([^']+)'", unescape(shown.page)) == hashes
    frame = shown._repr_html_()
    assert 'sandbox="allow-scripts"' in frame
    assert unescape(re.search(r'srcdoc="([^"]*)"', frame)[1]) == shown.page  # type: ignore[index]


def test_hostile_words_stay_inside_the_json(make_run: Any) -> None:
    tables = every_table(1, 2, words=HOSTILE + "x" * 1_000_000)
    for name, column in (("roles", "role"), ("clusters", "name"), ("parser", "relation")):
        tables[name][column] = [HOSTILE] * len(tables[name][column])
    page = render_atlas(make_run((("self", 1, 2),), tables=tables, model=HOSTILE * 9000))
    assert len(page) < 1_500_000
    markup = re.sub(r"<script type=\"application/json\".*?</script>", "", page, flags=re.DOTALL)
    assert "<img" not in page
    assert markup.count("<script>") == 2
    data = atlas(page)
    assert data["runs"][0]["cluster_labels"][0].startswith("1 · </script>")
    assert not any(c in json.dumps(data, ensure_ascii=False) for c in "\u202e\u200b")


def test_runs_of_different_layouts_are_refused_by_name(make_run: Any) -> None:
    small = make_run((("self", 2, 2),), model="small")
    large = make_run((("self", 3, 2),), model="large")
    with pytest.raises(UsageError, match=r"small has 2 layers × 2 heads.*large has 3 layers × 2"):
        render_report([small, large])
    with pytest.raises(UsageError, match="at least one run"):
        render_report([])


def test_two_runs_say_what_changed(make_run: Any) -> None:
    names = ("layer", "head", "target", "mean", "ci_low", "ci_high", "n")
    pages = []
    for model, share, places in (("before", 0.10, [(0, 0)]), ("after", 0.45, [(0, 1), (0, 0)])):
        surface = [(0, 0, "sep", share, 0.0, 1.0, 9), (0, 1, "sep", 0.2, 0.1, 0.3, 9)]
        tables = {
            "surface": columns([dict(zip(names, row, strict=True)) for row in surface]),
            "roles": role_table({"sep": places}, 1, 2),
        }
        pages.append(make_run((("self", 1, 2),), tables=tables, model=model))
    assert differences(pages, run_names(pages)) == [
        "From before to after, 1 head gained a role and none lost one; the role [SEP] went from 1 "
        "to 2 heads; the largest change in where a head looks is that of 1-1, whose attention to "
        "[SEP] went from 10.0 % to 45.0 % (+35.0 points)."
    ]
    data = atlas(render_atlas(pages))
    assert [run["name"] for run in data["runs"]] == ["before", "after"]
    assert data["runs"][0]["roles"] == {"1-1": [0]}
    assert data["runs"][1]["roles"] == {"1-1": [0], "1-2": [0]}


def test_runs_of_one_name_are_told_apart(make_run: Any) -> None:
    a, b = make_run((("self", 1, 1),)), make_run((("self", 1, 1),))
    names = run_names([a, b])
    assert len(set(names)) == 2
    page = render_report([a, b])
    assert draw(a, "surface").title in page
    ids = re.findall(r' id="([^"]+)"', re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL))
    assert len(ids) == len(set(ids))
    assert {"surface", "surface-2"} <= set(ids)
