"""Checkpoints count only while they are to the bit what was written; one writer per folder."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from headscope.errors import RunError
from headscope.tuning.folder import TuningFolder
from headscope.tuning.saving import saving
from headscope.tuning.whole_checkpoints import is_whole, newest_whole, rotate, seal


def checkpoint(training: Path, step: int, best: int | None = None) -> Path:
    folder = training / f"checkpoint-{step}"
    folder.mkdir(parents=True)
    (folder / "model.safetensors").write_bytes(b"weights of step %d" % step)
    state = {
        "best_model_checkpoint": None if best is None else str(training / f"checkpoint-{best}")
    }
    (folder / "trainer_state.json").write_text(json.dumps(state))
    return folder


def sealed(training: Path, step: int, best: int | None = None) -> Path:
    folder = checkpoint(training, step, best)
    seal(folder)
    return folder


@pytest.mark.parametrize("damage", ["flip", "cut", "gone", "manifest"])
def test_a_damaged_checkpoint_is_as_if_it_were_not_there(tmp_path: Path, damage: str) -> None:
    first, second = sealed(tmp_path, 5), sealed(tmp_path, 10)
    assert newest_whole(tmp_path) == (second, [])
    file = second / "model.safetensors"
    content = file.read_bytes()
    if damage == "flip":
        file.write_bytes(bytes([content[0] ^ 1]) + content[1:])
    elif damage == "cut":
        file.write_bytes(content[:-1])
    elif damage == "gone":
        file.unlink()
    else:
        (second / "headscope.json").write_text("[]")
    assert not is_whole(second)
    found, notes = newest_whole(tmp_path)
    assert found == first
    assert notes == ["checkpoint-10 was damaged; its steps are trained again"]
    assert not second.exists()


def test_one_that_was_being_written_is_no_news(tmp_path: Path) -> None:
    first = sealed(tmp_path, 5)
    checkpoint(tmp_path, 10)
    assert newest_whole(tmp_path) == (first, [])
    assert newest_whole(tmp_path / "nothing") == (None, [])


def test_a_training_that_forgot_its_best_begins_before_it(tmp_path: Path) -> None:
    sealed(tmp_path, 5, best=5)
    best = sealed(tmp_path, 10, best=10)
    sealed(tmp_path, 15, best=10)
    (best / "model.safetensors").write_bytes(b"other")
    found, notes = newest_whole(tmp_path)
    assert found == tmp_path / "checkpoint-5"
    assert len(notes) == 2


def test_rotation_goes_by_steps_not_by_dates(tmp_path: Path) -> None:
    for step in (5, 10, 15, 20):
        folder = sealed(tmp_path, step, best=10)
        os.utime(folder, (1e9 - step, 1e9 - step))  # a clock that goes back
        rotate(tmp_path, keep=2)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["checkpoint-10", "checkpoint-20"]


def test_two_at_once(tmp_path: Path) -> None:
    first, second = TuningFolder(tmp_path / "t"), TuningFolder(tmp_path / "t")
    first.begin({"task": "x"}, resume=False)
    with pytest.raises(RunError, match="is being written by process"):
        second.begin({"task": "x"}, resume=True)
    first.close()
    assert second.begin({"task": "x"}, resume=True)["status"] == "running"
    second.close()


def test_what_a_crash_before_the_first_record_left_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / ".finetune.json.4711.tmp").write_text('{"sta')
    (tmp_path / ".lock").touch()
    folder = TuningFolder(tmp_path)
    assert folder.begin({"task": "x"}, resume=False)["status"] == "running"
    folder.close()
    (tmp_path / "finetune.json").write_text("[1, 2]")
    with pytest.raises(RunError, match="is damaged"):
        folder.check(resume=True)


def test_other_libraries_disk_errors_in_our_words(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="the disk is full"), saving(tmp_path):
        raise OSError(28, "No space left on device")
    with pytest.raises(RunError, match="is the disk full"), saving(tmp_path):
        raise RuntimeError("[enforce fail at inline_container.cc:672] . unexpected pos 64 vs 0")
    with pytest.raises(RuntimeError, match="shapes"), saving(tmp_path):
        raise RuntimeError("shapes cannot be multiplied")
