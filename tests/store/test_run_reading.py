from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from headscope.errors import RunError
from headscope.store import Run, RunRecord, RunWriter, is_run, open_run
from headscope.store.lock import RunLock


def edit(run: Run, **changes: Any) -> None:
    file = run.path / "run.json"
    fields = {**json.loads(file.read_text(encoding="utf-8")), **changes}
    file.write_text(json.dumps(fields), encoding="utf-8")


def test_tables_and_unknown_names(make_run: Callable[..., Run]) -> None:
    run = make_run()
    table = run.table("surface")
    assert table.column_names[:3] == ["stack", "layer", "head"]
    assert np.isnan(table["mean"][1].as_py())
    with pytest.raises(RunError, match="has no table 'surfaces'; it has: surface"):
        run.table("surfaces")
    with pytest.raises(RunError, match="has no array 'x'; it has: none"):
        run.array("x")
    with pytest.raises(RunError, match="has no table"):
        run.table("../run")


def test_what_is_no_run(tmp_path: Path, record: RunRecord) -> None:
    with pytest.raises(RunError, match="does not exist"):
        open_run(tmp_path / "nowhere")
    with pytest.raises(RunError, match=r"is not a run \(it has no run.json\)"):
        open_run(tmp_path)
    RunWriter.open(tmp_path / "begun", record).close()
    assert is_run(tmp_path / "begun")
    with pytest.raises(RunError, match=r"unfinished run; finish it with .* --resume"):
        open_run(tmp_path / "begun")


def test_newer_and_damaged_records(make_run: Callable[..., Run]) -> None:
    run = make_run()
    edit(run, format=99, headscope="7.1", model="something else entirely")
    with pytest.raises(
        RunError, match=r"headscope 7\.1 in run format 99; .* Update to headscope 7"
    ):
        open_run(run.path)
    edit(run, format=1)
    with pytest.raises(RunError, match=r"run\.json is damaged: model: "):
        open_run(run.path)
    for text in ("{", "[]", "\udcff", "null"):
        (run.path / "run.json").write_bytes(text.encode("utf-8", "surrogateescape"))
        with pytest.raises(RunError, match=r"run\.json is"):
            open_run(run.path)


def test_fields_of_later_versions_are_kept(make_run: Callable[..., Run]) -> None:
    run = make_run()
    edit(run, mood="good")
    assert open_run(run.path).record.model_extra == {"mood": "good"}


def test_damaged_files_are_said(make_run: Callable[..., Run]) -> None:
    run = make_run()
    run.add_array("grid", np.arange(3))
    for file in (run.path / "tables/surface.parquet", run.path / "arrays/grid.safetensors"):
        file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(RunError, match=r"surface\.parquet is damaged"):
        run.table("surface")
    with pytest.raises(RunError, match=r"surface\.parquet is damaged"):
        run.query("select 1")
    with pytest.raises(RunError, match=r"grid\.safetensors is damaged"):
        run.array("grid")


def test_adding_to_a_finished_run(make_run: Callable[..., Run]) -> None:
    run = make_run()
    columns = {"layer": [0], "head": [0], "x": [0.0], "y": [None]}
    run.add_table("head_map", columns)
    first = (run.path / "tables/head_map.parquet").read_bytes()
    run.add_table("head_map", run.table("head_map"))
    assert (run.path / "tables/head_map.parquet").read_bytes() == first
    run.add_table("mine", pa.table({"word": ["a"], "n": [1]}))
    run.add_array("grid", np.arange(6.0).reshape(2, 3).T)
    assert run.array("grid").tolist() == [[0, 3], [1, 4], [2, 5]]
    assert run.write_file("report.html", "ü").read_text(encoding="utf-8") == "ü"
    assert run.tables == ("head_map", "mine", "surface")
    assert not list(run.path.rglob("*.tmp"))
    with pytest.raises(RunError, match="lacks x, y"):
        run.add_table("head_map", {"layer": [0], "head": [0]})
    with pytest.raises(RunError, match="cannot name a file"):
        run.write_file("run.json", "")
    with pytest.raises(RunError, match="cannot name a table"):
        run.add_table("../x", {})


def test_adding_waits_for_the_lock(
    make_run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run()
    monkeypatch.setattr("headscope.store.run._WAIT_SECONDS", 0.05)
    with RunLock(run.path), pytest.raises(RunError, match="being written by process"):
        run.write_file("a.txt", "")
    run.write_file("a.txt", "")


def test_shown_in_a_notebook(make_run: Callable[..., Run]) -> None:
    run = make_run()
    edit(run, notes=["<script>alert(1)</script>"], skipped=[{"name": "a&b", "reason": "<i>"}])
    html = open_run(run.path)._repr_html_()
    assert "<script>" not in html
    assert "tiny&lt;b&gt;" in html
    assert "a&amp;b: &lt;i&gt;" in html
    assert repr(run) == f"Run({str(run.path)!r}: tiny<b>, 3 sequences, 1 tables)"


def test_no_torch_is_needed() -> None:
    code = (
        "import sys, headscope.store, headscope.values, headscope.stats;"
        "sys.exit(any(m in sys.modules for m in ('torch', 'transformers', 'scipy.stats')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
