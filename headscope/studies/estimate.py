"""What a study will take, before it starts: from a short measurement and stated constants."""

from __future__ import annotations

import functools
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from headscope.studies.plan import Plan, Planned
from headscope.studies.step import Cost

#: The share of a machine's speed at matrix products that a whole pass reaches, measured on two
#: cores with models of 6 and 12 layers.
_EFFICIENCY = 0.45
_PROBE_SECONDS = 0.3


@functools.cache
def machine_speed() -> float:
    """Floating-point operations per second at products of a transformer's sizes, measured."""
    import torch

    a, b = torch.randn(512, 384), torch.randn(384, 1536)
    for _ in range(3):
        a @ b
    n, started = 0, time.perf_counter()
    while (spent := time.perf_counter() - started) < _PROBE_SECONDS:
        a @ b
        n += 1
    return 2.0 * 512 * 384 * 1536 * n / spent


@dataclass(frozen=True)
class Estimate:
    """Seconds and bytes of what is still to be done, step by step.

    `factor` is how much longer finished steps took than estimated (their median); 1 before any.
    """

    seconds: Mapping[str, float]
    n_bytes: Mapping[str, int]
    speed: float
    factor: float
    n_measured: int

    @property
    def total_seconds(self) -> float:
        return sum(self.seconds.values())

    @property
    def total_bytes(self) -> int:
        return sum(self.n_bytes.values())

    def basis(self) -> str:
        """Where the numbers come from, in one sentence."""
        measured = (
            f"{self.speed / 1e9:.0f} GFLOP/s at matrix products, measured here just now, and "
            f"constants of each kind of step"
        )
        if not self.n_measured:
            return f"from {measured}; expect it to be right within a factor of three"
        return (
            f"from {measured}, times {self.factor:.1f}, which is what {self.n_measured} finished "
            "steps took compared with it"
        )


def seconds_of(cost: Cost, speed: float) -> float:
    """Time of a step at this speed."""
    return cost.flops / (speed * _EFFICIENCY) + cost.seconds


def estimate(plan: Plan, output: Path | None = None) -> Estimate:
    """What is left of a plan."""
    speed = machine_speed()
    todo: list[Planned] = []
    ratios: list[float] = []
    for one in plan.steps:
        told = None if output is None else one.done(output)
        if told is None:
            todo.append(one)
        elif told.get("seconds", 0) > 1 and not told.get("resumed"):
            ratios.append(told["seconds"] / max(0.1, seconds_of(one.cost, speed)))
    factor = statistics.median(ratios) if ratios else 1.0
    return Estimate(
        {one.name: factor * seconds_of(one.cost, speed) for one in todo},
        {one.name: one.cost.n_bytes for one in todo},
        speed,
        factor,
        len(ratios),
    )


def people_seconds(seconds: float) -> str:
    """A duration for people.

    >>> people_seconds(40), people_seconds(400), people_seconds(8000)
    ('40 s', '7 min', '2.2 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def people_bytes(n_bytes: float) -> str:
    """A size for people.

    >>> people_bytes(5e5), people_bytes(2.5e9)
    ('0.5 MB', '2.5 GB')
    """
    return f"{n_bytes / 1e6:.1f} MB" if n_bytes < 1e9 else f"{n_bytes / 1e9:.1f} GB"


def plan_lines(plan: Plan, found: Estimate, output: Path | None = None) -> list[str]:
    """The plan as people read it: every step, what it waits for, what it will take."""
    width = max(len(one.name) for one in plan.steps)
    kinds = max(len(one.step.kind) for one in plan.steps)
    lines = []
    for i, one in enumerate(plan.steps, 1):
        if one.name in found.seconds:
            takes = f"~{people_seconds(found.seconds[one.name])}"
        else:
            takes = "done"
        what = _about(one)
        lines.append(
            f"{i:>3}. {one.name:<{width}}  {one.step.kind:<{kinds}}  {takes:>8}  {what}".rstrip()
        )
    lines += [f"     {name}: left out, {reason}" for name, reason in plan.left_out.items()]
    return lines


def _about(one: Planned) -> str:
    parts: Sequence[str] = [
        *one.step.models().values(),
        *one.step.corpora().values(),
        *(name for names in one.step.steps().values() for name in names),
    ]
    task = getattr(one.step, "task", None)
    listed = list(dict.fromkeys([*parts, *([task] if task else [])]))
    more = f" … ({len(listed)})" if len(listed) > 4 else ""
    return ", ".join(listed[:4]) + more
