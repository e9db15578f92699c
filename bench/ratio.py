"""Speeds as ratios, measured alternately in one run: A B A B, medians."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

#: HEADSCOPE_BENCH_CLOCK=cpu counts processor time instead of time on the wall: what a machine that
#: others use at the same time distorts least. Threads add up, so set OMP_NUM_THREADS=1 with it.
CLOCK = time.process_time if os.environ.get("HEADSCOPE_BENCH_CLOCK") == "cpu" else time.perf_counter


@dataclass(frozen=True)
class Line:
    """One line of the bench: a ratio and what it should be."""

    name: str
    ratio: float
    target: float
    detail: str = ""

    @property
    def holds(self) -> bool:
        return self.ratio <= self.target

    def __str__(self) -> str:
        if self.target == float("inf"):  # for information
            return f"info  {self.ratio:8.3f}                    {self.name}{self.detail}"
        verdict = "ok  " if self.holds else "MISS"
        return (
            f"{verdict}  {self.ratio:8.3f}  (target ≤ {self.target:5.2f})  {self.name}{self.detail}"
        )


def seconds(work: Callable[[], object]) -> float:
    start = CLOCK()
    work()
    return CLOCK() - start


def alternated(
    ours: Callable[[], object], theirs: Callable[[], object], *, rounds: int = 5
) -> float:
    """Median over rounds of seconds(ours) / seconds(theirs), after one round to warm up.

    The order within a round changes from round to round, so that drift favours nobody.
    """
    ratios = []
    for turn in range(rounds + 1):
        if turn % 2:
            mine, other = seconds(ours), seconds(theirs)
        else:
            other, mine = seconds(theirs), seconds(ours)
        ratios.append(mine / other)
    return statistics.median(ratios[1:])
