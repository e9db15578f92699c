"""Speeds as ratios, measured alternately in one run: A B A B, medians.

A ratio near its target is measured more often than one far from it: rounds go on until the median
is plainly on one side, whichever that is. A busy moment then costs time instead of a verdict.
"""

from __future__ import annotations

import itertools
import os
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scipy.stats import quantile_test

#: HEADSCOPE_BENCH_CLOCK=cpu counts processor time instead of time on the wall: what a machine that
#: others use at the same time distorts least. Threads add up, so set OMP_NUM_THREADS=1 with it.
CLOCK = time.process_time if os.environ.get("HEADSCOPE_BENCH_CLOCK") == "cpu" else time.perf_counter


#: Rounds go on up to this many times what a line asks for at least.
MOST = 5


@dataclass(frozen=True)
class Line:
    """One line of the bench: a ratio and what it should be."""

    name: str
    ratio: float
    target: float
    detail: str = ""
    rounds: tuple[float, ...] = ()

    @property
    def holds(self) -> bool:
        return self.ratio <= self.target

    def __str__(self) -> str:
        verdict = "ok  " if self.holds else "MISS"
        target = f"(target ≤ {self.target:5.2f})"
        if self.target == float("inf"):  # for information
            verdict, target = "info", " " * len(target)
        spread = ""
        if self.rounds:
            low, high = min(self.rounds), max(self.rounds)
            spread = f" [{low:.3f} to {high:.3f} in {len(self.rounds)} rounds]"
        return f"{verdict}  {self.ratio:8.3f}  {target}  {self.name}{self.detail}{spread}"


def seconds(work: Callable[[], object]) -> float:
    start = CLOCK()
    work()
    return CLOCK() - start


def decided(rounds: Sequence[float], target: float) -> bool:
    """Whether the median is plainly on one side of the target.

    All rounds on one side, or a two-sided sign test at 10 %.

    >>> decided([0.9, 0.8, 0.9], 1.0), decided([0.9, 1.1, 0.9], 1.0)
    (True, False)
    >>> decided([0.9] * 8 + [1.1], 1.0)
    True
    """
    below = sum(one <= target for one in rounds)
    if below in (0, len(rounds)):
        return True
    return bool(quantile_test(rounds, q=target, p=0.5).pvalue <= 0.1)


def measured(
    name: str, draw: Callable[[], float], target: float, *, rounds: int, detail: str = ""
) -> Line:
    """A line whose ratio is the median of what `draw` finds, in `rounds` rounds or more."""
    found = [draw() for _ in range(rounds)]
    while len(found) < MOST * rounds and not decided(found, target):
        found.append(draw())
    return Line(name, statistics.median(found), target, detail, tuple(found))


def compared(
    name: str,
    ours: Callable[[], object],
    theirs: Callable[[], object],
    target: float,
    *,
    rounds: int = 5,
    share: float = 1.0,
    detail: str = "",
) -> Line:
    """Seconds(ours) / seconds(theirs), after one round to warm up.

    The order changes from round to round, so that drift favours nobody. If theirs does only
    part of the work, `share` is that part.
    """
    turns = itertools.count()

    def draw() -> float:
        if next(turns) % 2:
            mine, other = seconds(ours), seconds(theirs)
        else:
            other, mine = seconds(theirs), seconds(ours)
        return share * mine / other

    draw()
    return measured(name, draw, target, rounds=rounds, detail=detail)
