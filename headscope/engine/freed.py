"""Memory that was freed, handed back to the system."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache


def hand_back() -> None:
    """Let go of freed memory that the C library keeps for later; nothing where it has no such call.

    Large tensors of unlike sizes leave holes that are not filled again, so that the peak of a long
    pass creeps up by some percent. After a shard all of them are free.
    """
    _trim()(0)


@cache
def _trim() -> Callable[[int], object]:
    try:
        return ctypes.CDLL(None).malloc_trim  # glibc
    except (AttributeError, OSError, TypeError):  # macOS and musl; Windows
        return lambda _: None
