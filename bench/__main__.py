"""`python -m bench`: every ratio with its target. Name lines' files to run only those.

No clock is compared with another machine's: both sides of a ratio run here, alternately.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys

import torch

import bench.lines


def main() -> int:
    """Print every line; exit code 1 if a target is missed."""
    wanted = sys.argv[1:] or sorted(m.name for m in pkgutil.iter_modules(bench.lines.__path__))
    print(f"ratios, measured alternately, medians; torch threads: {torch.get_num_threads()}")
    missed = 0
    for name in wanted:
        for line in importlib.import_module(f"bench.lines.{name}").lines():
            print(line, flush=True)
            missed += not line.holds
    print("all targets hold" if not missed else f"{missed} targets missed")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
