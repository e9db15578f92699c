"""Loops compiled to machine code, for what torch would do in several passes over memory."""

from __future__ import annotations

import functools
import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numba


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile at the first call ever, and keep the machine code on disk where there is a place.

    numba looks for a folder beside the file, then for the user's; an installation in which
    neither can be written compiles in every process, for a few seconds.
    """
    # numpy's division does not look for zeros, which would keep a loop from being vectorised
    compile_ = functools.partial(numba.njit, error_model="numpy", fastmath=True, nogil=True)
    found: Callable[..., Any]
    try:
        found = compile_(cache=True)(function)
    except RuntimeError:
        found = compile_()(function)
    return found


#: Pieces of work per thread: who comes late, or is interrupted, does fewer of them.
PIECES = 8


def in_parts(kernel: Callable[[int, int], Any], n_tasks: int, n_threads: int) -> None:
    """Call `kernel(first, last)` for pieces of all tasks, in this thread and in others.

    Whoever is free takes the next piece. The threads of a forward pass go on waiting for work on
    their cores for some milliseconds after it, so a helper often starts late: this thread does not
    wait for it, nor does anything depend on who does what.
    """
    n_workers = max(1, min(n_threads, n_tasks))
    if n_workers == 1:
        kernel(0, n_tasks)
        return
    n_pieces = min(n_tasks, n_workers * PIECES)
    pieces = deque(
        (n_tasks * i // n_pieces, n_tasks * (i + 1) // n_pieces) for i in range(n_pieces)
    )

    def work() -> None:
        while True:
            try:
                first, last = pieces.popleft()
            except IndexError:  # none left
                return
            kernel(first, last)

    helpers = [_helpers().submit(work) for _ in range(n_workers - 1)]
    try:
        work()
    finally:
        pieces.clear()
        for helper in helpers:
            if not helper.cancel():
                helper.result()


@functools.cache
def _helpers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="headscope")


# a forked process has none of its parent's threads
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_helpers.cache_clear)
