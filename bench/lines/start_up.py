"""How long the command line takes to answer, beside Python importing numpy."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence

from bench.ratio import Line, measured

VERBS = ((), ("analyze",), ("query",))


def processor_seconds(arguments: Sequence[str]) -> float:
    """Processor time of a process, start to end, whatever else the machine does."""
    silent = os.open(os.devnull, os.O_WRONLY)
    actions = [(os.POSIX_SPAWN_DUP2, silent, 1), (os.POSIX_SPAWN_DUP2, silent, 2)]
    environment = {**os.environ, "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}
    pid = os.posix_spawn(
        sys.executable, [sys.executable, *arguments], environment, file_actions=actions
    )
    os.close(silent)
    _, status, usage = os.wait4(pid, 0)
    if status:
        raise RuntimeError(f"{' '.join(arguments)} failed")
    return usage.ru_utime + usage.ru_stime


def lines() -> Iterator[Line]:
    for verb in VERBS:
        command = ["-m", "headscope", *verb, "--help"]

        def draw(command: Sequence[str] = command) -> float:
            return processor_seconds(command) / processor_seconds(["-c", "import numpy"])

        draw()
        name = " ".join(["headscope", *verb, "--help"])
        yield measured(f"{name} / python -c 'import numpy'", draw, 5.0, rounds=7)
