"""Freed memory goes back to the system."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest

from headscope.engine.freed import hand_back


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_holes_between_blocks_are_handed_back() -> None:
    if "glibc" not in (os.confstr("CS_GNU_LIBC_VERSION") or ""):
        pytest.skip("another C library: there is no such call")
    blocks = [np.ones(100_000, np.uint8) for _ in range(2000)]  # small enough not to be mapped
    kept = blocks[::2]
    del blocks
    before = resident_bytes()
    hand_back()
    assert resident_bytes() < before - 50_000_000
    assert all(one[0] == 1 for one in kept)


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
