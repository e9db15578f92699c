"""Runs, tables, SQL and sentences as the explorer serves them."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import headscope as hs
from headscope.explorer.answers import Refused
from headscope.explorer.folder import Folder
from headscope.explorer.limits import Limits
from headscope.explorer.sentences import sentences_of, wanted_of
from headscope.explorer.sql import Sql
from headscope.explorer.texts import Texts
from headscope.models import LoadedModel
from headscope.types import HeadId
from tests.explorer.served import Served


def test_all_runs_of_the_folder_are_listed(served: Served, runs_folder: Path) -> None:
    runs = served.ask("/api/runs").json["runs"]
    assert [run["folder"] for run in runs] == ["second", "first", "small"]
    ids = {run["folder"]: run["id"] for run in runs}
    assert ids["first"] == "first"
    assert ids["second"].startswith("deep-er-second-")
    assert runs[1]["stacks"] == [["self", 2, 8]]
    for id_ in (ids["first"], ids["second"]):
        page = served.ask(f"/run/{id_}")
        assert page.status == 200
        assert 'id="atlas-data"' in page.text
        assert "unsafe-eval" not in page.headers["content-security-policy"]
        assert "frame-ancestors 'none'" in page.headers["content-security-policy"]
    both = served.ask(f"/compare/{ids['first']},{ids['second']}")
    assert "what changed" in both.text
    assert served.ask("/compare/first").status == 422
    assert served.ask("/compare/first,nowhere").status == 404


def test_a_run_that_is_removed_while_a_question_waits_is_gone(
    runs_folder: Path, tmp_path: Path
) -> None:
    shutil.copytree(runs_folder / "first", tmp_path / "first")
    run = hs.open_run(tmp_path / "first")

    async def asked() -> list[int]:
        sql, found = Sql(Limits()), []
        try:
            for question in ("select nothing from surface", "select 1 from surface"):
                with pytest.raises(Refused) as refusal:
                    await sql.ask(run, question)
                found.append(refusal.value.status_code)
                shutil.rmtree(run.path, ignore_errors=True)
        finally:
            await sql.close()
        return found

    with ThreadPoolExecutor(1) as alone:  # a browser test may have left a loop in this thread
        assert alone.submit(lambda: asyncio.run(asked())).result() == [422, 410]


def test_an_unfinished_or_damaged_run_is_listed_with_its_problem(tmp_path: Path) -> None:
    from headscope.explorer.folder import described

    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "run.json").write_text("{")
    found = [described(one) for one in Folder.at(tmp_path).runs().values()]
    assert [one["folder"] for one in found] == ["broken"]
    assert "damaged" in str(found[0]["problem"])


def test_tables_and_sql_say_what_the_run_says(served: Served, runs_folder: Path) -> None:
    run = hs.open_run(runs_folder / "first")
    tables = {t["name"]: t for t in served.ask("/api/runs/first/tables").json["tables"]}
    assert set(tables) == set(run.tables)
    assert tables["surface"]["n_rows"] == run.table("surface").num_rows
    sql = "select head, mean from surface where layer = 0 and target = 'prev' order by head"
    found = served.post("/api/runs/first/query", {"sql": sql}).json
    expected = run.query(sql)
    assert found["columns"] == ["head", "mean"]
    assert [row[0] for row in found["rows"]] == expected["head"].to_pylist()
    assert [row[1] for row in found["rows"]] == expected["mean"].to_pylist()
    assert found["more"] is False
    cut = served.post("/api/runs/first/query", {"sql": "select * from range(5000)"}).json
    assert (len(cut["rows"]), cut["more"]) == (1000, True)
    empty = served.post("/api/runs/first/query", {"sql": "select 'nan'::double as x"}).json
    assert empty["rows"] == [[None]]


def test_sentences_are_those_of_the_tables_with_the_corpus_text(
    served: Served, runs_folder: Path
) -> None:
    run = hs.open_run(runs_folder / "first")
    texts = {s.id: s for s in hs.shipped_corpus().sequences()}
    rows = [
        r
        for r in run.table("sieve_scores").to_pylist()
        if (r["layer"], r["head"], r["role"]) == (1, 1, "prev_local")
    ]
    best = sorted(rows, key=lambda r: (-r["score"], r["sequence"]))
    found = served.ask("/api/runs/first/sentences?head=2-2&what=role:prev_local").json
    assert found["texts"]
    assert [s["sequence"] for s in found["sentences"]] == [r["sequence"] for r in best][:50]
    first = found["sentences"][0]
    assert first["text"] == texts[first["sequence"]].text
    assert first["pair"] == texts[first["sequence"]].pair

    example = run.table("parser_examples").to_pylist()[0]
    head = HeadId(example["layer"], example["head"])
    key = f"relation:{example['relation']}"
    assert key in [w.key for w in wanted_of(run, head)]
    told = sentences_of(run, head, key, 50, texts)
    mine = [
        r
        for r in run.table("parser_examples").to_pylist()
        if (r["layer"], r["head"], r["relation"]) == (head.layer, head.head, example["relation"])
    ]
    assert sorted(one["text"] for one in told) == sorted(r["sentence"] for r in mine)
    assert [one["right"] for one in told] == sorted((r["correct"] for r in mine), reverse=True)


def test_a_run_whose_corpus_is_elsewhere_has_no_texts_but_its_ids(
    served: Served, runs_folder: Path
) -> None:
    id_ = next(r["id"] for r in served.ask("/api/runs").json["runs"] if r["folder"] == "second")
    found = served.ask(f"/api/runs/{id_}/sentences?head=1-1&what=role:prev_local").json
    assert not found["texts"]
    assert found["sentences"][0]["text"] is None
    assert found["sentences"][0]["sequence"]
    assert served.ask(f"/api/runs/{id_}/sentences?head=1-1&what=nonsense").json["sentences"] == []
    assert served.ask(f"/api/runs/{id_}/sentences?head=x").status == 422


def test_texts_come_from_a_named_corpus_if_it_is_the_one_that_was_read(
    planted_bert: LoadedModel, tmp_path: Path
) -> None:
    corpus = tmp_path / "mine.txt"
    corpus.write_text("the cat sat on the mat.\nthe dog ran.\n", encoding="utf-8")
    run = hs.analyze(planted_bert, corpus, tmp_path / "run", measures=["surface"])
    texts = Texts([corpus]).of(run)
    assert sorted(one.text for one in texts.values()) == ["the cat sat on the mat.", "the dog ran."]
    assert Texts().of(run) == {}
    corpus.write_text("another corpus altogether.\n", encoding="utf-8")
    assert Texts([corpus]).of(run) == {}


def test_serving_runs_never_loads_torch(runs_folder: Path) -> None:
    code = """
import sys
from starlette.testclient import TestClient
from headscope.explorer.app import Explorer
explorer = Explorer(sys.argv[1], port=80)
with TestClient(explorer.app(), base_url="http://127.0.0.1") as client:
    for path in ("/", "/live", "/label", "/api/runs", "/run/first", "/run/first/tables",
                 "/api/runs/first/sentences?head=1-1", "/api/labels", "/static/style.css"):
        assert client.get(path).status_code == 200, (path, client.get(path).text)
    found = client.post("/api/runs/first/query", json={"sql": "select 1 as one"})
    assert found.json()["rows"] == [[1]], found.text
    assert client.get("/api/live").status_code == 404
assert "torch" not in sys.modules and "transformers" not in sys.modules
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(runs_folder)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
