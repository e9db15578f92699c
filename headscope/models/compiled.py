"""Loops compiled to machine code, for what torch would do in several passes over memory."""

from __future__ import annotations

import functools
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


def in_parts(kernel: Callable[[int, int], Any], n_tasks: int, n_threads: int) -> None:
    """Call `kernel(first, last)` for all tasks, divided evenly between threads."""
    n_workers = max(1, min(n_threads, n_tasks))
    if n_workers == 1:
        kernel(0, n_tasks)
        return
    bounds = [n_tasks * worker // n_workers for worker in range(n_workers + 1)]
    with ThreadPoolExecutor(n_workers) as pool:
        list(pool.map(lambda w: kernel(bounds[w], bounds[w + 1]), range(n_workers)))
