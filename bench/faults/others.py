"""A clock that goes back, and two of the same command at once."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

from bench.faults.child import run, start, wait
from bench.faults.commands import Command, outcome
from bench.faults.kills import Reference, Tally, fresh


def clock_back(
    command: Command, reference: Reference, base: Path, folder: Path, rng: random.Random
) -> Tally:
    """Killed at one time, resumed twenty years earlier (libfaketime; a process of its own)."""
    tally = Tally(command.verb)
    faketime = shutil.which("faketime")
    if faketime is None:
        tally.counts["no faketime here"] += 1
        return tally
    output, said = folder / f"{command.verb}-clock", folder / "said.txt"
    fresh(command, base, output)
    run(command.line(output), said, kill_at=rng.uniform(0.1, 0.95) * reference.cpu_seconds)
    line = command.line(output, resume=True)
    ended = subprocess.run(
        [faketime, "2006-03-26 01:59:58", sys.executable, "-m", "headscope", *line],
        capture_output=True, text=True, timeout=900, env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    tally.check(
        ended.returncode == 0, f"it does not go on (exit {ended.returncode}): {ended.stderr[-600:]}"
    )
    if ended.returncode == 0:
        differing = reference.differing(outcome(output))
        tally.check(not differing, f"other bytes: {differing}")
        tally.counts["went on to the same bytes"] += not differing
    shutil.rmtree(output, ignore_errors=True)
    return tally


def twice(
    command: Command, reference: Reference, base: Path, folder: Path, rng: random.Random
) -> Tally:
    """The same command twice at once, with --resume: one works, the other waits or refuses."""
    tally = Tally(command.verb)
    output = folder / f"{command.verb}-twice"
    fresh(command, base, output)
    if command.resumes and rng.random() < 0.5:  # something to go on with
        run(command.line(output), folder / "said.txt", kill_at=0.5 * reference.cpu_seconds)
    files = [folder / "first.txt", folder / "second.txt"]
    pids = [start(command.line(output, resume=True), file) for file in files]
    ends = [wait(pid, file) for pid, file in zip(pids, files, strict=True)]
    codes = sorted(ended.code for ended in ends)
    for ended in ends:
        tally.check(ended.code == 0 or ended.refused_clearly, "one of two ended badly", ended)
        tally.counts["refused clearly"] += ended.refused_clearly
    tally.check(codes[0] == 0, f"none of the two got through: {codes}")
    tally.counts["both got through, one after the other"] += codes == [0, 0]
    differing = reference.differing(outcome(output) if codes[0] == 0 else {})
    tally.check(not differing, f"other bytes: {differing}")
    tally.counts["went on to the same bytes"] += not differing
    shutil.rmtree(output, ignore_errors=True)
    return tally
