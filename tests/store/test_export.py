from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from headscope.errors import RunError
from headscope.store import Run, export_tables, table_text

STRANGE = ['a,"b"\nc', "", "=1+1", "ü🙂"]


def test_text_round_trips() -> None:
    table = pa.table({"s": STRANGE, "x": [0.1, float("nan"), None, float("inf")], "b": [True] * 4})
    rows = list(csv.reader(io.StringIO(table_text(table))))
    assert rows[0] == ["s", "x", "b"]
    assert [row[0] for row in rows[1:]] == STRANGE
    assert [row[1] for row in rows[1:]] == ["0.1", "", "", "inf"]
    records = json.loads(table_text(table, "json"))
    assert [r["s"] for r in records] == STRANGE
    assert [r["x"] for r in records] == [0.1, None, None, "Infinity"]
    assert json.loads(table_text(table.slice(0, 0), "json")) == []


@pytest.mark.parametrize("format_", ["csv", "json"])
def test_export_to_a_folder(make_run: Callable[..., Run], tmp_path: Path, format_: str) -> None:
    run = make_run()
    run.add_table("words", {"word": ["a"], "n": [1]})
    target = tmp_path / "out" / "here"
    paths = export_tables(run, target, format_)  # type: ignore[arg-type]
    assert [p.name for p in paths] == [f"surface.{format_}", f"words.{format_}"]
    with pytest.raises(RunError, match="exists already"):
        export_tables(run, target, format_)  # type: ignore[arg-type]
    export_tables(run, target, format_, tables=["words"], overwrite=True)  # type: ignore[arg-type]
    with pytest.raises(RunError, match="has no table 'x'"):
        export_tables(run, tmp_path / "none", tables=["words", "x"])
    assert not (tmp_path / "none").exists()
