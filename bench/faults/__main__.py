"""`python -m bench.faults --kills 200`: every fault, how often, and how it ended.

Seeded: the same seed gives the same moments (in processor time). Exit code 1 if anything was lost,
went on to other bytes, or ended in anything but a clear refusal.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

#: How kills are shared out.
SHARES = {
    "analyze": 35,
    "roles": 25,
    "cluster": 20,
    "probe": 35,
    "ablate": 35,
    "finetune": 38,
    "serve": 12,
}
OTHERS = ("writes", "small", "disk", "spoilt", "clock", "twice")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--each", type=int, default=4, help="of every other fault, per verb")
    parser.add_argument("--faults", default=",".join(("kills", *OTHERS)))
    parser.add_argument("--verbs", default=",".join(SHARES))
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"  # one thread: equal bytes, and children can be forked
    from bench.faults.child import warm_up

    warm_up()
    found: dict[tuple[str, str], Counter[str]] = {}
    problems: list[str] = []
    with tempfile.TemporaryDirectory(prefix="faults-") as name:
        for fault, verb, counts, wrong in trials(Path(name), asked):
            found.setdefault((fault, verb), Counter()).update({"trials": 1, **counts})
            problems += [f"{fault}: {what}" for what in wrong]
            told = ", ".join(f"{n} {what}" for what, n in counts.items() if n)
            print(f"  {fault} {verb}: {told or 'untouched'}", flush=True)
            for what in wrong:
                print(f"PROBLEM {fault}: {what}", flush=True)
    for (fault, verb), counts in found.items():
        told = ", ".join(f"{n} {what}" for what, n in counts.items() if what != "trials")
        print(f"{fault:8} {verb:10} {counts['trials']:4} trials: {told}")
    total = sum(counts["killed"] for counts in found.values())
    n_trials = sum(counts["trials"] for counts in found.values())
    print(f"{total} kills, {n_trials} trials, {len(problems)} problems")
    return int(bool(problems))


def trials(
    folder: Path, asked: argparse.Namespace
) -> Iterator[tuple[str, str, Counter[str], list[str]]]:
    """Every trial as it ends."""
    from bench.faults import disk, kills, others, serving
    from bench.faults.commands import commands
    from bench.faults.subject import write_subject

    verbs, faults = asked.verbs.split(","), asked.faults.split(",")
    subject = write_subject(folder / "subject")
    serving.reference_run(subject, folder)
    known = commands(subject)
    references = {
        verb: kills.reference_of(known[verb], subject.run, folder)
        for verb in verbs
        if verb in known
    }
    for verb, reference in references.items():
        print(f"{verb}: {reference.cpu_seconds:.1f} s of processor time undisturbed", flush=True)
    total = sum(SHARES[verb] for verb in verbs)
    n_kills = {verb: -(-asked.kills * SHARES[verb] // total) for verb in verbs}
    if "kills" in faults:
        for verb in verbs:
            rng, left = random.Random(f"{asked.seed} kills {verb}"), n_kills[verb]
            while left > 0:
                if verb == "serve":
                    tally = serving.kill_serve(subject, folder, rng)
                else:
                    tally = kills.kill_once(known[verb], references[verb], subject.run, folder, rng)
                left -= tally.counts["killed"]
                yield "kills", verb, tally.counts, tally.problems
    kinds: dict[str, Callable[..., kills.Tally]] = {
        "writes": disk.failing_writes,
        "small": disk.small_files,
        "spoilt": disk.spoilt_checkpoint,
        "clock": others.clock_back,
        "twice": others.twice,
    }
    if disk.can_mount(folder):
        kinds["disk"] = disk.full_disk
    for fault in (f for f in faults if f in kinds):
        for verb in references:
            rng = random.Random(f"{asked.seed} {fault} {verb}")
            for _ in range(asked.each):
                tally = kinds[fault](known[verb], references[verb], subject.run, folder, rng)
                yield fault, verb, tally.counts, tally.problems


if __name__ == "__main__":
    sys.exit(main())
