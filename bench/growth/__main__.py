"""`python -m bench.growth`: the exponent of cost along every axis, and the picture of it.

Processor time of one thread, the best of several, on random tiny models. The exponent is the slope
of log time over log size between the largest sizes, where what grows fastest has won; the rule is
that measuring grows no faster than the forward pass does, and that only the divergence of all
pairs of heads, of all layers, may grow with their square (rows are sampled so that it stays
affordable).
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

#: How much steeper than the forward pass a line may look, for noise.
MARGIN = 0.2
#: What multiplies the number of heads that are compared with each other.
PAIRED = ("layers", "heads")


def main() -> int:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--picture", type=Path)
    parser.add_argument("axes", nargs="*")
    asked = parser.parse_args()
    import torch

    from bench.growth.axes import AXES, timed
    from bench.growth.exponents import exponent

    torch.set_num_threads(1)
    rows, missed = [], 0
    for axis in (a for a in AXES if not asked.axes or a.name in asked.axes):
        seen: dict[str, list[float]] = {}
        for size in axis.sizes:
            for name, work in timed(axis, size):
                seen.setdefault(name, []).append(best_of(work))
        slopes = {name: exponent(axis.sizes, taken) for name, taken in seen.items()}
        allowed = max(slopes.get("forward pass", 1.0), 1.0) + MARGIN
        for name, taken in seen.items():
            limit = (
                2.0 + MARGIN if name.startswith("divergence") and axis.name in PAIRED else allowed
            )
            good = slopes[name] <= limit
            missed += not good
            told = ", ".join(f"{1000 * t:.1f}" for t in taken)
            print(
                f"{'ok  ' if good else 'MISS'} {axis.name:10} {name:28} exponent "
                f"{slopes[name]:5.2f} (at most {limit:.2f}); ms at {axis.sizes}: {told}",
                flush=True,
            )
            rows += [
                {
                    "axis": axis.name,
                    "what": name,
                    "size": size,
                    "seconds": t,
                    "exponent": slopes[name],
                }
                for size, t in zip(axis.sizes, taken, strict=True)
            ]
    if asked.picture is not None:
        from bench.growth.picture import draw

        draw(rows, asked.picture)
    return int(missed > 0)


def best_of(work: Callable[[], object], at_least: float = 0.15) -> float:
    """Processor seconds of the best round; as many rounds as fit into a while, three at least."""
    work()
    best, spent, n = float("inf"), 0.0, 0
    while n < 3 or spent < at_least:
        start = time.process_time()
        work()
        taken = time.process_time() - start
        best, spent, n = min(best, taken), spent + taken, n + 1
    return best


if __name__ == "__main__":
    sys.exit(main())
