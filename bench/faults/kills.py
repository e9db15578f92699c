"""SIGKILL at random moments, then the same command again."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from bench.faults.child import Ended, run
from bench.faults.commands import Command, leftovers, outcome
from bench.faults.hooks import log_changes


@dataclass
class Tally:
    """What was done to a verb and how it ended; `problems` should stay empty."""

    verb: str
    counts: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    def check(self, good: bool, what: str, ended: Ended | None = None) -> None:
        if not good:
            told = "" if ended is None else f" (exit {ended.code}): {ended.said[-600:]}"
            self.problems.append(f"{self.verb}: {what}{told}")


@dataclass
class Reference:
    """What an undisturbed command gives, and the processor time it takes."""

    content: dict[str, bytes]
    cpu_seconds: float

    def differing(self, found: dict[str, bytes]) -> list[str]:
        """The names of what is other than undisturbed."""
        names = sorted({*found, *self.content})
        return [name for name in names if found.get(name) != self.content.get(name)]


def fresh(command: Command, base: Path, output: Path) -> None:
    """An output as it is before the command: absent, or a finished run to be added to."""
    shutil.rmtree(output, ignore_errors=True)
    if not command.resumes:
        shutil.copytree(base, output)


def reference_of(command: Command, base: Path, folder: Path) -> Reference:
    """Run it undisturbed."""
    output = folder / f"{command.verb}-reference"
    fresh(command, base, output)
    ended = run(command.line(output), folder / "said.txt")
    if ended.code != 0:
        raise RuntimeError(f"{command.verb} does not work at all: {ended.said}")
    return Reference(outcome(output), ended.cpu_seconds)


def n_checkpoints(output: Path) -> int:
    """How many pieces of work are kept."""
    kept = ("checkpoints/shard-*", "training/checkpoint-*")
    return sum(1 for pattern in kept for _ in output.glob(pattern))


def has_checkpoints(output: Path, enough: int) -> bool:
    return n_checkpoints(output) >= enough


def state_of(output: Path) -> str:
    """In which state a killed command left its output."""
    for name in ("run.json", "finetune.json"):
        if (output / name).is_file():
            text = (output / name).read_text(encoding="utf-8")
            if '"complete"' not in text:
                return f"unfinished with{'' if n_checkpoints(output) else 'out'} checkpoints"
            if name == "run.json" and not (output / "report.html").is_file():
                return "complete without its report"
            return "complete"
    return "nothing written yet"


def kill_once(
    command: Command, reference: Reference, base: Path, folder: Path, rng: random.Random
) -> Tally:
    """Kill a command, perhaps once more while it goes on, then let it end and look."""
    tally = Tally(command.verb)
    output, said = folder / f"{command.verb}-killed", folder / "said.txt"
    log = folder / "changes.txt"
    fresh(command, base, output)
    before = {} if command.resumes else outcome(output)
    resume, done = False, {}
    for _ in range(1 + (rng.random() < 0.3)):
        # half of the moments are anywhere, half while there is work to be kept
        moment = rng.uniform(0.0, 1.0) * reference.cpu_seconds
        enough = rng.randint(1, 9) if command.resumes and rng.random() < 0.5 else 1_000_000
        ended = run(
            command.line(output, resume=resume),
            said,
            log_changes(output, log),
            kill_at=moment if enough == 1_000_000 else None,
            kill_when=partial(has_checkpoints, output, enough),
        )
        _rewritten(tally, done, log)
        if ended.code != -9:
            tally.counts["ended before its moment"] += 1
            tally.check(ended.code == 0, "a resumed command failed", ended)
            break
        tally.counts["killed"] += 1
        state = state_of(output)
        tally.counts[f"state: {state}"] += 1
        if not command.resumes:
            tally.check(_keeps(output, before), "tables were lost by the kill")
        done = _finished(output)
        resume = True
    ended = run(command.line(output, resume=True), said, log_changes(output, log))
    _rewritten(tally, done, log)
    tally.check(ended.code == 0, "it does not go on", ended)
    if ended.code == 0:
        tally.counts["went on to the same bytes"] += 1
        differing = reference.differing(outcome(output))
        tally.check(not differing, f"other bytes than undisturbed: {differing}")
        tally.check(not leftovers(output), f"left behind: {leftovers(output)}")
    shutil.rmtree(output, ignore_errors=True)
    return tally


def _keeps(output: Path, before: dict[str, bytes]) -> bool:
    """Whether every table of before is there, whole (it may have been replaced by the verb)."""
    import pyarrow.parquet as pq

    now = {path.name for path in (output / "tables").iterdir()}
    for name in before:
        if name.endswith(".parquet"):
            if name not in now:
                return False
            pq.read_metadata(output / "tables" / name)
    return True


def _finished(output: Path) -> dict[str, int]:
    """The shards that are finished, by their time of writing."""
    shards = output.glob("checkpoints/shard-*.safetensors")
    return {str(path): path.stat().st_mtime_ns for path in shards}


def _rewritten(tally: Tally, done: dict[str, int], log: Path) -> None:
    """Complain if a command computed a finished shard once more."""
    if not done or not log.exists():
        return
    opened = log.read_text(encoding="utf-8").splitlines()
    names = {Path(path).name for path in done}
    again = {name for name in names if any(f".{name}." in line for line in opened)}
    tally.check(not again, f"finished shards were computed again: {sorted(again)}")
