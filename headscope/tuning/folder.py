"""The folder a model is tuned into: unfinished until its record says otherwise."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headscope.errors import RunError
from headscope.store.durable import explained, write_durably

RECORD, TRAINING, STAGING = "finetune.json", "training", ".staging"


def digest(request: Mapping[str, Any]) -> str:
    """SHA-256 of what was asked, as canonical JSON."""
    text = json.dumps(request, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


class TuningFolder:
    """Holds a record and checkpoints while a model is tuned, and the model itself at the end.

    The model's files are written aside and moved into place, then the record is replaced: a crash
    leaves an unfinished folder that `resume` continues, or a finished one.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.expanduser()

    @property
    def training(self) -> Path:
        return self.path / TRAINING

    def record(self) -> dict[str, Any] | None:
        """What the folder says about itself; None if it says nothing."""
        file = self.path / RECORD
        if not file.is_file():
            return None
        try:
            found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise RunError(f"{file} cannot be read: {error}") from None
        return found

    def check(self, *, resume: bool) -> None:
        """Refuse at once what cannot be written, before any work."""
        with explained("write", self.path):
            if self.path.exists() and not self.path.is_dir():
                raise RunError(f"{self.path} is a file; choose another -o")
            record = self.record()
            if record is None:
                if self.path.is_dir() and any(self.path.iterdir()):
                    raise RunError(f"{self.path} is not empty; choose another -o")
            elif record["status"] == "complete" and not resume:
                raise RunError(f"{self.path} holds a tuned model; choose another -o, or delete it")
            elif record["status"] != "complete" and not resume:
                raise RunError(
                    f"{self.path} holds an unfinished fine-tuning; add --resume to continue it, "
                    "choose another -o, or delete it"
                )

    def begin(self, request: Mapping[str, Any], *, resume: bool) -> dict[str, Any]:
        """Write down what is asked, or make sure that the same was asked before."""
        self.check(resume=resume)
        old = self.record()
        if old is not None:
            if old["digest"] != digest(request):
                changed = [
                    f"{key}: {old['request'].get(key)} → {request.get(key)}"
                    for key in sorted(set(old["request"]) | set(request))
                    if old["request"].get(key) != request.get(key)
                ]
                raise RunError(
                    f"{self.path} cannot be resumed: it was asked differently\n  "
                    + "\n  ".join(changed)
                    + "\nChoose another -o, or ask the same"
                )
            return old
        new = {"status": "running", "digest": digest(request), "request": dict(request)}
        with explained("write", self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            self.write(new)
        return new

    def write(self, record: Mapping[str, Any]) -> None:
        """Replace the record in one step."""
        text = json.dumps(record, indent=2, ensure_ascii=False) + "\n"
        write_durably(self.path / RECORD, text.encode())

    def checkpoint(self) -> Path | None:
        """The newest whole checkpoint."""
        if not self.training.is_dir():
            return None
        whole = [
            path
            for path in self.training.glob("checkpoint-*")
            if path.name.rpartition("-")[2].isdecimal() and (path / "trainer_state.json").is_file()
        ]
        return max(whole, key=lambda path: int(path.name.rpartition("-")[2]), default=None)

    def staging(self) -> Path:
        """An empty folder for the model's files."""
        folder = self.path / STAGING
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return folder

    def complete(self, record: Mapping[str, Any]) -> None:
        """Move the staged files into place and declare the folder finished."""
        with explained("write", self.path):
            staged = self.path / STAGING
            for entry in sorted(staged.iterdir()):
                entry.replace(self.path / entry.name)
            staged.rmdir()
            self.write({**record, "status": "complete"})
            shutil.rmtree(self.training, ignore_errors=True)
