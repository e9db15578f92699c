"""Pieces of compiled work: each done once, whoever does it, and errors come out."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest

from headscope.models.compiled import in_parts


@pytest.mark.parametrize("n_threads", [1, 2, 5])
@pytest.mark.parametrize("n_tasks", [0, 1, 3, 16, 1000])
def test_every_task_is_done_once(n_tasks: int, n_threads: int) -> None:
    done = np.zeros(n_tasks, int)

    def kernel(first: int, last: int) -> None:
        done[first:last] += 1

    in_parts(kernel, n_tasks, n_threads)
    assert (done == 1).all()


def test_helpers_help() -> None:
    """Two pieces that wait for each other end only if two threads work."""
    both = threading.Barrier(2, timeout=60)
    in_parts(lambda first, last: both.wait() and None, 2, 2)


@pytest.mark.parametrize("error", [IndexError, KeyboardInterrupt])
def test_an_error_comes_out_and_ends_the_work(error: type[BaseException]) -> None:
    calls = []

    def kernel(first: int, last: int) -> None:
        calls.append(first)
        raise error("broken")

    with pytest.raises(error, match="broken"):
        in_parts(kernel, 100, 2)
    assert len(calls) <= 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_has_helpers_of_its_own() -> None:
    test_helpers_help()
    child = os.fork()
    if child == 0:
        threading.Timer(30, os._exit, [1]).start()  # rather than wait for a thread that is not here
        test_helpers_help()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert status == 0
