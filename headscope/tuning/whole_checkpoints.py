"""Checkpoints of a training that are known to be whole."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

from headscope.store.durable import write_durably

_MANIFEST = "headscope.json"
_STATE = "trainer_state.json"


def seal(folder: Path) -> None:
    """Write down what a checkpoint consists of; from now on it counts."""
    sums = {str(p.relative_to(folder)): _sum(p) for p in sorted(folder.rglob("*")) if p.is_file()}
    write_durably(folder / _MANIFEST, json.dumps(sums, indent=1).encode())


def is_whole(folder: Path) -> bool:
    """Whether a checkpoint is to the bit what was sealed."""
    try:
        sums = json.loads((folder / _MANIFEST).read_bytes())
        return bool(sums) and all(_sum(folder / name) == told for name, told in sums.items())
    except (OSError, ValueError, AttributeError, TypeError):
        return False


def step_of(folder: Path) -> int | None:
    """The step of a checkpoint's folder.

    >>> step_of(Path("checkpoint-200")), step_of(Path("checkpoint-x"))
    (200, None)
    """
    name, _, step = folder.name.rpartition("-")
    return int(step) if name == "checkpoint" and step.isascii() and step.isdecimal() else None


def checkpoints(training: Path) -> list[Path]:
    """All checkpoints by step: names tell the order, times of writing may lie."""
    if not training.is_dir():
        return []
    found = [path for path in training.iterdir() if path.is_dir() and step_of(path) is not None]
    return sorted(found, key=lambda path: step_of(path) or 0)


def best_of(folder: Path) -> str | None:
    """The name of the best checkpoint so far, as a checkpoint remembers it."""
    try:
        told = json.loads((folder / _STATE).read_bytes())["best_model_checkpoint"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return None if told is None else Path(told).name


def newest_whole(training: Path) -> tuple[Path | None, list[str]]:
    """The newest checkpoint that can be gone on with, and a note for each that cannot.

    What is damaged or half written is removed, and so is what follows a checkpoint whose best
    predecessor is gone: a training that forgot its best weights would end with others.
    """
    notes: list[str] = []
    for folder in reversed(checkpoints(training)):
        best = best_of(folder)
        if is_whole(folder) and (best is None or is_whole(training / best)):
            return folder, notes
        # one without a seal was being written when the training was killed: no news
        if (folder / _MANIFEST).exists():
            notes.append(f"{folder.name} was damaged; its steps are trained again")
        shutil.rmtree(folder)
    return None, notes


def rotate(training: Path, keep: int) -> None:
    """Remove all but the newest checkpoints, and the best one."""
    found = checkpoints(training)
    best = best_of(found[-1]) if found else None
    kept = [path for path in found if path.name == best]
    rest = [path for path in found if path.name != best]
    for path in rest[: max(0, len(rest) - max(1, keep - len(kept)))]:
        shutil.rmtree(path)


def _sum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
