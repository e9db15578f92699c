"""The folder a model is tuned into: unfinished until its record says otherwise."""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headscope.errors import RunError
from headscope.store.durable import explained, is_temporary, remove_temporaries, write_durably
from headscope.store.lock import LOCK, OWNER, RunLock
from headscope.tuning.whole_checkpoints import newest_whole

RECORD, TRAINING, STAGING = "finetune.json", "training", ".staging"


def digest(request: Mapping[str, Any]) -> str:
    """SHA-256 of what was asked, as canonical JSON."""
    text = json.dumps(request, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


class TuningFolder:
    """Holds a record and checkpoints while a model is tuned, and the model itself at the end.

    The model's files are written aside and moved into place, then the record is replaced: a crash
    leaves an unfinished folder that `resume` continues, or a finished one. From `begin` to `close`
    nobody else can write there.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.expanduser()
        self._lock: RunLock | None = None

    @property
    def training(self) -> Path:
        return self.path / TRAINING

    def record(self) -> dict[str, Any] | None:
        """What the folder says about itself; None if it says nothing."""
        file = self.path / RECORD
        if not file.is_file():
            return None
        try:
            found = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise RunError(f"{file} cannot be read: {error}") from None
        if not isinstance(found, dict) or not {"status", "digest", "request"} <= found.keys():
            raise RunError(f"{file} is damaged: it is not the record of a fine-tuning")
        return found

    def check(self, *, resume: bool) -> None:
        """Refuse at once what cannot be written, before any work."""
        with explained("write", self.path):
            if self.path.exists() and not self.path.is_dir():
                raise RunError(f"{self.path} is a file; choose another -o")
            record = self.record()
            if record is None:
                if self.path.is_dir() and not all(_ours(p.name) for p in self.path.iterdir()):
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
        if old is None or old["status"] != "complete":
            with explained("write", self.path):
                self.path.mkdir(parents=True, exist_ok=True)
                self._lock = RunLock(self.path)
            self.check(resume=resume)
            old = self.record()  # whoever held the lock may have finished meanwhile
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
            remove_temporaries(self.path)
            self.write(new)
        return new

    def close(self) -> None:
        """Let the next one in."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def write(self, record: Mapping[str, Any]) -> None:
        """Replace the record in one step."""
        text = json.dumps(record, indent=2, ensure_ascii=False) + "\n"
        write_durably(self.path / RECORD, text.encode())

    def checkpoint(self) -> tuple[Path | None, list[str]]:
        """The newest whole checkpoint, and a note for each that was damaged."""
        with explained("read", self.training):
            return newest_whole(self.training)

    def staging(self) -> Path:
        """An empty folder for the model's files."""
        folder = self.path / STAGING
        with explained("write", folder):
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
        self.tidy()

    def tidy(self) -> None:
        """Remove what only an unfinished folder needs."""
        shutil.rmtree(self.training, ignore_errors=True)
        self.close()
        with contextlib.suppress(OSError):
            remove_temporaries(self.path)
            (self.path / LOCK).unlink(missing_ok=True)


def _ours(name: str) -> bool:
    """Whether a crash before the first record can have left that file."""
    return name in (LOCK, OWNER) or is_temporary(name)
