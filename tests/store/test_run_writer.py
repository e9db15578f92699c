from __future__ import annotations

import errno
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from headscope.errors import RunError
from headscope.store import Run, RunRecord, RunWriter, durable, open_run, read_record
from headscope.types import Result

ARRAYS = {"a": np.arange(6.0).reshape(2, 3).T, "empty": np.zeros((0, 3)), "zero": np.array(1)}
HEAD_MAP = {"layer": [0], "head": [0], "x": [0.0], "y": [float("nan")]}


def results() -> dict[str, Result]:
    return {"map": Result(tables={"head_map": HEAD_MAP}, arrays={"grid": ARRAYS["a"]})}


def test_a_run_from_start_to_end(tmp_path: Path, record: RunRecord) -> None:
    path = tmp_path / "deep" / "run"
    with RunWriter.open(path, record) as writer:
        assert read_record(path).status == "running"
        assert writer.finished_shards() == set()
        writer.save_shard(0, ARRAYS, {"values": [["ü", "sum"]]})
        writer.save_shard(12, {}, {})
        assert writer.finished_shards() == {0, 12}
        arrays, metadata = writer.load_shard(0)
        assert metadata == {"values": [["ü", "sum"]]}
        for name, array in ARRAYS.items():
            np.testing.assert_array_equal(arrays[name], array)
        writer.complete(results(), record, extra_files={"report.html": "<p>ü", "x.bin": b"\0"})
    run = open_run(path)
    assert run.record.status == "complete"
    assert run.record.finished is not None
    assert run.tables == ("head_map",)
    np.testing.assert_array_equal(run.array("grid"), ARRAYS["a"])
    names = {p.name for p in path.iterdir()}
    assert names - {".lock"} == {"run.json", "tables", "arrays", "report.html", "x.bin"}
    assert (path / "report.html").read_text(encoding="utf-8") == "<p>ü"


def test_resuming(tmp_path: Path, record: RunRecord) -> None:
    path = tmp_path / "run"
    # Resume with nothing there simply starts.
    with RunWriter.open(path, record, resume=True) as writer:
        writer.save_shard(3, ARRAYS, {})
    with pytest.raises(RunError, match="unfinished run; add --resume"):
        RunWriter.open(path, record)
    later = record.updated(created="2040-01-01T00:00:00Z", libraries={"numpy": "99"})
    with RunWriter.open(path, later, resume=True) as writer:
        assert writer.finished_shards() == {3}
        assert writer.record.created == record.created
        assert not writer.discard()
    with RunWriter.open(path, record, resume=True) as writer:
        writer.complete(results(), record)
    notes = read_record(path).notes
    assert any(re.match(r"resumed with numpy 99, begun with ", note) for note in notes)

    with pytest.raises(RunError, match="finished run; choose another -o, or delete it"):
        RunWriter.open(path, record)
    with RunWriter.open(path, record, resume=True) as writer:
        assert writer.already_complete
        with pytest.raises(RunError, match="not open for writing"):
            writer.save_shard(0, {}, {})


@pytest.mark.parametrize("complete", [False, True])
def test_another_request_is_not_resumed(tmp_path: Path, record: RunRecord, complete: bool) -> None:
    path = tmp_path / "run"
    with RunWriter.open(path, record) as writer:
        if complete:
            writer.complete({}, record)
    other = record.updated(
        request=record.request.model_copy(update={"settings": {"batch_size": 16}})
    )
    with pytest.raises(RunError, match=r"request\.settings\.batch_size: 8 → 16"):
        RunWriter.open(path, other, resume=True)
    with RunWriter.open(tmp_path / "new", record) as writer, pytest.raises(ValueError, match="16"):
        writer.complete({}, other)


def test_what_is_not_ours_is_left_alone(tmp_path: Path, record: RunRecord) -> None:
    file, folder = tmp_path / "file", tmp_path / "folder"
    file.write_text("mine")
    (folder / "checkpoints").mkdir(parents=True)
    with pytest.raises(RunError, match="is a file"):
        RunWriter.open(file, record)
    with pytest.raises(RunError, match=r"cannot write .*a part of the path is a file"):
        RunWriter.open(file / "run", record)
    for resume in (False, True):
        with pytest.raises(RunError, match="not empty and not a run"):
            RunWriter.open(folder, record, resume=resume)
    assert [p.name for p in folder.iterdir()] == ["checkpoints"]


def test_discard_leaves_no_trace(tmp_path: Path, record: RunRecord) -> None:
    with RunWriter.open(tmp_path / "new", record) as writer:
        assert writer.discard()
    assert not (tmp_path / "new").exists()
    (tmp_path / "empty").mkdir()
    with RunWriter.open(tmp_path / "empty", record) as writer:
        assert writer.discard()
    assert list((tmp_path / "empty").iterdir()) == []
    with RunWriter.open(tmp_path / "some", record) as writer:
        writer.save_shard(0, {}, {})
        assert not writer.discard()
    with RunWriter.open(tmp_path / "some", record, resume=True) as writer:
        assert writer.finished_shards() == {0}


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "text", "other shard"])
def test_damaged_checkpoints_are_computed_again(
    tmp_path: Path, record: RunRecord, damage: str
) -> None:
    path = tmp_path / "run"
    with RunWriter.open(path, record) as writer:
        for index in range(3):
            writer.save_shard(index, ARRAYS, {})
    victim = path / "checkpoints" / "shard-00001.safetensors"
    content = victim.read_bytes()
    if damage == "other shard":
        content = (path / "checkpoints" / "shard-00002.safetensors").read_bytes()
    victim.write_bytes(
        {
            "cut": content[:-5],
            "flip": content[:-5] + bytes([content[-5] ^ 1]) + content[-4:],
            "empty": b"",
            "text": b"not a tensor file at all" * 100,
            "other shard": content,
        }[damage]
    )
    with RunWriter.open(path, record, resume=True) as writer:
        with pytest.raises(RunError, match="is damaged"):
            writer.load_shard(1)
        assert writer.finished_shards() == {0, 2}
        with pytest.raises(RunError, match="shard 1 is not finished"):
            writer.load_shard(1)
        writer.save_shard(1, ARRAYS, {})
        assert writer.finished_shards() == {0, 1, 2}
        writer.complete({}, record)
    assert read_record(path).notes == (
        "the checkpoint of shard 1 was damaged and is computed again",
    )


CHILD = """
import sys
from headscope.errors import RunError
from headscope.store import RunWriter, RunRecord, read_record
try:
    RunWriter.open(sys.argv[1], read_record(sys.argv[1]), resume=True)
except RunError as error:
    print(error)
"""


def test_only_one_writer(tmp_path: Path, record: RunRecord) -> None:
    path = tmp_path / "run"
    with RunWriter.open(path, record):
        with pytest.raises(RunError, match=f"written by process {os.getpid()}"):
            RunWriter.open(path, record, resume=True)
        child = subprocess.run(
            [sys.executable, "-c", CHILD, str(path)], capture_output=True, text=True, check=True
        )
        assert f"is being written by process {os.getpid()};" in child.stdout
    with RunWriter.open(path, record, resume=True):
        pass


@pytest.mark.parametrize(
    ("code", "reason"), [(errno.ENOSPC, "the disk is full"), (errno.EACCES, "no permission")]
)
def test_a_full_disk_is_said_and_leaves_a_resumable_run(
    tmp_path: Path,
    record: RunRecord,
    monkeypatch: pytest.MonkeyPatch,
    code: int,
    reason: str,
) -> None:
    path = tmp_path / "run"
    with RunWriter.open(path, record) as writer:
        writer.save_shard(0, ARRAYS, {})

        def fail(*_: object) -> None:
            raise OSError(code, os.strerror(code))

        with monkeypatch.context() as patch:
            patch.setattr(durable.os, "fsync", fail)
            with pytest.raises(RunError, match=f"cannot write .*shard-00001.*{reason}"):
                writer.save_shard(1, ARRAYS, {})
            with pytest.raises(RunError, match=reason):
                writer.complete(results(), record)
            with pytest.raises(RunError, match=reason):
                RunWriter.open(tmp_path / "other", record)
    with RunWriter.open(path, record, resume=True) as writer:
        assert writer.finished_shards() == {0}
        assert not list(path.rglob("*.tmp"))


def test_names_inside_a_run_are_checked(tmp_path: Path, record: RunRecord) -> None:
    with RunWriter.open(tmp_path / "run", record) as writer:
        for name in ("../x", "run.json", "tables", ".lock", "a/b", ""):
            with pytest.raises(RunError, match="cannot name a file"):
                writer.complete({}, record, extra_files={name: b""})
        with pytest.raises(RunError, match="cannot name an array"):
            writer.complete({"m": Result(arrays={"a/b": ARRAYS["a"]})}, record)
        with pytest.raises(RunError, match=r"a and b both write tables/head_map\.parquet"):
            writer.complete({k: Result(tables={"head_map": HEAD_MAP}) for k in "ab"}, record)
        with pytest.raises(ValueError, match="has type <U1; expected numbers"):
            writer.save_shard(0, {"x": np.array(["a"])}, {})
        with pytest.raises(ValueError, match="count from 0"):
            writer.save_shard(-1, {}, {})
        writer.complete({}, record)


def test_equal_runs_have_equal_bytes(make_run: Callable[..., Run]) -> None:
    files = [
        {p.name: p.read_bytes() for p in sorted((make_run(name).path / "tables").iterdir())}
        for name in ("one", "two")
    ]
    assert files[0] == files[1]


def test_run_json_is_plain_json(make_run: Callable[..., Run]) -> None:
    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    text = (make_run().path / "run.json").read_text(encoding="utf-8")
    fields = json.loads(text, parse_constant=refuse)
    assert fields["status"] == "complete"
    assert fields["created"].endswith("Z")
    assert len(fields["request_digest"]) == 64
