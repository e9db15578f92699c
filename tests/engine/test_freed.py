"""Freed memory goes back to the system."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from headscope.engine.freed import hand_back

#: A process of its own: what other tests left in the heap is not its business.
HOLES = """
import os
from pathlib import Path

import numpy as np

from headscope.engine.freed import hand_back


def resident():
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


blocks = [np.ones(100_000, np.uint8) for _ in range(2000)]  # small enough not to be mapped
kept = blocks[::2]
del blocks
before = resident()
hand_back()
print(before - resident(), all(one.all() for one in kept))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_holes_between_blocks_are_handed_back() -> None:
    if "glibc" not in (os.confstr("CS_GNU_LIBC_VERSION") or ""):
        pytest.skip("another C library: there is no such call")
    done = subprocess.run([sys.executable, "-c", HOLES], check=True, capture_output=True, text=True)
    freed, intact = done.stdout.split()
    assert int(freed) > 50_000_000
    assert intact == "True"


def test_where_there_is_no_such_call_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    import ctypes

    from headscope.engine import freed

    def without(name: object) -> object:
        raise OSError("no such library")

    monkeypatch.setattr(ctypes, "CDLL", without)
    freed._trim.cache_clear()
    try:
        hand_back()
    finally:
        freed._trim.cache_clear()
