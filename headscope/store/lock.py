"""One writer per run."""

from __future__ import annotations

import contextlib
import json
import os
import socket
from pathlib import Path
from typing import Self

from filelock import FileLock, Timeout

from headscope.errors import RunError
from headscope.store.durable import explained

LOCK, OWNER = ".lock", ".owner"


class RunLock:
    """The lock of a run folder, held until released or until the process ends, however it ends.

    The operating system holds it (flock), so a killed process leaves none behind. Who holds it
    is written beside it, for the message only.
    """

    def __init__(self, folder: Path, *, timeout_seconds: float = 0.0) -> None:
        self._folder = folder
        self._lock = FileLock(folder / LOCK, timeout=timeout_seconds, thread_local=False)
        with explained("lock", folder):
            try:
                self._lock.acquire()
            except Timeout:
                raise RunError(f"{folder} is being written by {_owner(folder)}") from None
        owner = {"pid": os.getpid(), "host": socket.gethostname()}
        with contextlib.suppress(OSError):
            (folder / OWNER).write_text(json.dumps(owner), encoding="utf-8")

    def release(self) -> None:
        """Let the next one in; releasing twice does nothing."""
        if self._lock.is_locked:
            with contextlib.suppress(OSError):
                (self._folder / OWNER).unlink(missing_ok=True)
            self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def _owner(folder: Path) -> str:
    try:
        owner = json.loads((folder / OWNER).read_text(encoding="utf-8"))
        where = "" if owner["host"] == socket.gethostname() else f" on {owner['host']}"
        return f"process {int(owner['pid'])}{where}; wait for it or stop it"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process; wait for it or stop it"
