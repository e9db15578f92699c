"""What a process holds right now: memory, open files, threads (Linux)."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Held:
    """Memory in mebibytes, open file handles, threads."""

    mebibytes: float
    n_files: int
    n_threads: int


def held(pid: int) -> Held | None:
    """What a process holds; None once it has ended."""
    process = Path("/proc") / str(pid)
    with contextlib.suppress(OSError, ValueError, KeyError):
        lines = (process / "status").read_text().splitlines()
        fields = dict(line.split(":", 1) for line in lines if ":" in line)
        if "VmRSS" not in fields:
            return None
        n_files = sum(1 for _ in (process / "fd").iterdir())
        return Held(int(fields["VmRSS"].split()[0]) / 1024, n_files, int(fields["Threads"]))
    return None


def children(pid: int) -> list[int]:
    """The processes that a process has started and that live."""
    with contextlib.suppress(OSError):
        tasks = (Path("/proc") / str(pid) / "task").iterdir()
        return [int(child) for task in tasks for child in (task / "children").read_text().split()]
    return []
