from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from headscope.errors import RunError
from headscope.store import Run

HOSTILE = ["'; drop view surface; --", '"x"', "<script>", "ü🙂\u202e", "a\0b", "\\", "%s{}"]


def test_no_data_is_null_and_sorts_last(make_run: Callable[..., Run]) -> None:
    run = make_run()
    best = run.query("select layer, head, mean from surface order by mean desc")
    assert best.to_pydict() == {"layer": [0, 1, 0], "head": [0, 0, 1], "mean": [0.5, 0.25, None]}
    assert run.query("select avg(mean) a, max(mean) m from surface").to_pylist() == [
        {"a": 0.375, "m": 0.5}
    ]
    assert run.query("select * from surface where mean > 0.3").num_rows == 1
    assert run.query("select stack, n from surface where mean is null").to_pylist() == [
        {"stack": "self", "n": 0}
    ]


def test_what_reads_is_allowed(make_run: Callable[..., Run]) -> None:
    run = make_run()
    assert run.query("show tables").to_pydict() == {"name": ["surface"]}
    for sql in (
        "describe surface",
        "summarize surface",
        "explain select * from surface",
        "with t as (select 1 as a) select * from t",
        "from surface",
        "pivot surface on head using sum(mean) group by layer",
        "select layer, head from SURFACE limit 1;",
        "values (1)",
    ):
        assert run.query(sql).num_columns > 0, sql
    assert run.query("from range(100)", max_rows=7).num_rows == 7


@pytest.mark.parametrize(
    "sql",
    [
        "select * from read_csv('{file}')",
        "select * from read_text('{file}')",
        "select * from read_blob('{file}')",
        "select * from sniff_csv('{file}')",
        "select * from read_parquet('{folder}/tables/surface.parquet')",
        "select * from parquet_metadata('{folder}/tables/surface.parquet')",
        "select * from '{file}'",
        "select * from glob('{folder}/*')",
        "select * from 'https://example.org/a.csv'",
        "select getenv('HOME')",
        "copy surface to '{folder}/out.csv'",
        "copy (select 1) to '{folder}/out.csv'",
        "attach '{folder}/out.db'",
        "attach ':memory:' as other",
        "install httpfs",
        "load httpfs",
        "load '{folder}/x.so'",
        "export database '{folder}/out'",
        "import database '{folder}/out'",
        "set lock_configuration = false",
        "set enable_external_access = true",
        "reset enable_external_access",
        "pragma enable_profiling",
        "create table t as select 1",
        "create secret (type s3)",
        "drop view surface",
        "insert into surface values (1)",
        "delete from surface",
        "explain analyze copy surface to '{folder}/out.csv'",
        "select 1; drop view surface",
        "select secret from record",
        "select * from local_table",
        "",
        ";",
        "selec 1",
    ],
)
def test_nothing_but_the_tables(make_run: Callable[..., Run], tmp_path: Path, sql: str) -> None:
    run = make_run()
    local_table = run.table("surface")  # Python variables are not tables
    assert local_table.num_rows == 3
    file = tmp_path / "secret.csv"
    file.write_text("a,b\n1,2\n")
    before = sorted(run.path.rglob("*"))
    with pytest.raises(RunError, match="query refused: "):
        run.query(sql.format(file=file, folder=run.path))
    assert sorted(run.path.rglob("*")) == before
    assert run.query("select count(*) c from surface").to_pylist() == [{"c": 3}]


def test_errors_are_short(make_run: Callable[..., Run]) -> None:
    with pytest.raises(RunError) as caught:
        make_run().query("select meen\nfrom surface")
    text = str(caught.value)
    assert "meen" in text
    assert len(text.splitlines()) <= 5


def test_a_query_can_be_stopped(make_run: Callable[..., Run]) -> None:
    endless = "select sum(a.i * b.i) from range(100000000) a(i), range(100000000) b(i)"
    with pytest.raises(RunError, match=r"longer than 0\.2 seconds"):
        make_run().query(endless, timeout_seconds=0.2)


def test_hostile_strings_pass_through(make_run: Callable[..., Run]) -> None:
    run = make_run(words={"word": HOSTILE, 'odd "name"': list(range(len(HOSTILE)))})
    answer = run.query("select * from words")
    assert answer["word"].to_pylist() == HOSTILE
    assert answer.column_names == ["word", 'odd "name"']
