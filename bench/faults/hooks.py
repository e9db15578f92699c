"""Inside a child: hear of every change of a folder, count it, write it down, let it fail."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

_CHANGES = {"os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.truncate"}


def on_change(folder: Path, heard: Callable[[str, str], None]) -> None:
    """Call `heard(event, path)` before every change of the folder; it may raise or kill.

    Python tells of opening, renaming, making and removing (audit events); syncing is added here,
    because that is where a failing disk is noticed.
    """
    inside = str(folder)

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = args
            writes = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
            if writes and isinstance(path, str | bytes | os.PathLike):
                name = os.fsdecode(path)
                if name.startswith(inside):
                    heard(event, name)
        elif event in _CHANGES and args and isinstance(args[0], str | bytes | os.PathLike):
            name = os.fsdecode(args[0])
            if name.startswith(inside):
                heard(event, name)

    real = os.fsync

    def fsync(descriptor: Any) -> None:
        heard("fsync", inside)
        real(descriptor)

    os.fsync = fsync
    sys.addaudithook(hook)


def log_changes(folder: Path, log: Path) -> Callable[[], None]:
    """Prepare a child that writes down what it opens for writing in the folder."""

    def prepare() -> None:
        to = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND)

        def heard(event: str, path: str) -> None:
            if event == "open":
                os.write(to, f"{path}\n".encode())

        on_change(folder, heard)

    return prepare


def fail_at(folder: Path, step: int, code: int, *, for_ever: bool) -> Callable[[], None]:
    """Prepare a child whose k-th change of the folder fails, alone or with all that follow."""

    def prepare() -> None:
        seen = 0

        def heard(event: str, path: str) -> None:
            nonlocal seen
            seen += 1
            if seen == step or (for_ever and seen > step):
                raise OSError(code, os.strerror(code), path)

        on_change(folder, heard)

    return prepare
