"""`python -m bench.fuzz --inputs 100000`: so many spoilt files for every reader.

Seeded; the inputs that break something are kept in the folder `--keep`, one per kind of fault.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from bench.fuzz.spoil import spoilt
from bench.fuzz.targets import Target, targets
from bench.fuzz.trial import PATIENCE, HangError, set_limits, tried, where


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, default=Path(tempfile.gettempdir()) / "fuzz-faults")
    parser.add_argument("names", nargs="*", help="only these readers")
    asked = parser.parse_args()
    known = targets()
    set_limits()
    n_faults = 0
    shm = Path("/dev/shm")  # a disk would only slow it down
    with tempfile.TemporaryDirectory(dir=shm if shm.is_dir() else None) as name:
        for target in (known[n] for n in asked.names or known):
            n_faults += _fuzz(target, asked.inputs, asked.seed, Path(name), asked.keep)
    print("no faults" if not n_faults else f"{n_faults} kinds of faults; see {asked.keep}")
    return int(n_faults > 0)


def _fuzz(target: Target, n_inputs: int, seed: int, folder: Path, keep: Path) -> int:
    counts: Counter[str] = Counter()
    faults: Counter[str] = Counter()
    slowest, started = 0.0, time.process_time()
    for number in range(n_inputs):
        rng = random.Random(f"{seed} {target.name} {number}")
        content = spoilt(target.seeds, rng)
        began = time.process_time()
        try:
            counts[tried(target, content, folder, rng)] += 1
        except (Exception, HangError) as error:
            fault = f"hang of {PATIENCE:g} s" if isinstance(error, HangError) else where(error)
            if not faults[fault]:
                keep.mkdir(parents=True, exist_ok=True)
                (keep / f"{target.name}-{number}").write_bytes(content)
                print(f"  {target.name} input {number}: {fault}", flush=True)
            faults[fault] += 1
        slowest = max(slowest, time.process_time() - began)
    taken = time.process_time() - started
    print(
        f"{target.name:11} {n_inputs:7,} inputs: {counts['read']:6,} read, "
        f"{counts['refused']:6,} refused, {sum(faults.values())} faults; slowest "
        f"{1000 * slowest:.0f} ms, all {taken:.0f} s",
        flush=True,
    )
    return len(faults)


if __name__ == "__main__":
    sys.exit(main())
