"""The verbs under test: how each is called, how it goes on, and what it must give in the end."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from bench.faults.subject import Subject

#: Columns that say how long something took; all others must be equal to the bit.
_CLOCKS = {"probe_tasks": ["seconds"]}


@dataclass(frozen=True)
class Command:
    """One verb on the subject; `resumes` if a killed one goes on with --resume."""

    verb: str
    arguments: tuple[str, ...]
    resumes: bool = True

    def line(self, output: Path, *, resume: bool = False) -> list[str]:
        """The command line; verbs that add to a run get the run as their output."""
        target = ["-o", str(output)] if self.resumes else [str(output)]
        again = ["--resume"] if resume and self.resumes else []
        return [self.verb, *self.arguments, *target, *again]


def commands(subject: Subject) -> dict[str, Command]:
    """All verbs but serve, which has a loop of its own."""
    model, labelled = str(subject.model), str(subject.labelled)
    task = ("--task", "classification", "--data", labelled)
    short = ("--max-tokens", "32")
    few = ("--measures", "surface,entropy,sieve,distance")  # a report that is soon drawn
    return {
        "analyze": Command(
            "analyze",
            (model, "-c", str(subject.corpus), "--shard-size", "4", *few, *short, "-q"),
        ),
        "roles": Command("roles", ("--resamples", "199", "--no-report"), resumes=False),
        "cluster": Command("cluster", ("--k", "3"), resumes=False),
        "probe": Command("probe", (model, "--task", str(subject.task), "--controls", "1", "-q")),
        "ablate": Command(
            "ablate", (model, *task, "--shard-size", "4", "--resamples", "199", "-q")
        ),
        "finetune": Command(
            "finetune",
            (model, *task, "--epochs", "2", "--batch-size", "8", "--save-every", "3", "-q"),
        ),
    }


def outcome(output: Path) -> dict[str, bytes]:
    """What a finished output must hold to the bit, whatever happened on the way."""
    found: dict[str, bytes] = {}
    if (output / "finetune.json").is_file():
        record = json.loads((output / "finetune.json").read_text(encoding="utf-8"))
        result = {k: v for k, v in record["result"].items() if k != "seconds"}
        found["result"] = json.dumps(result, sort_keys=True).encode()
        for name in ("model.safetensors", "config.json", "tokenizer.json"):
            found[name] = (output / name).read_bytes()
        return found
    for path in sorted((output / "tables").iterdir()):
        if path.stem in _CLOCKS:
            table = pq.read_table(path, use_threads=False).drop_columns(_CLOCKS[path.stem])
            found[path.name] = repr(table.to_pydict()).encode()
        else:
            found[path.name] = path.read_bytes()
    if (output / "arrays").is_dir():
        for path in sorted((output / "arrays").iterdir()):
            found[path.name] = path.read_bytes()
    return found


def leftovers(output: Path) -> list[str]:
    """What should not be there once a command has finished."""
    allowed = {"run.json", "tables", "arrays", "report.html", ".lock"}
    if (output / "finetune.json").is_file():
        unfinished = ("training", ".staging")
        return [p.name for p in output.iterdir() if p.name in unfinished or ".tmp" in p.name]
    return sorted(
        str(p.relative_to(output))
        for p in output.rglob("*")
        if p.relative_to(output).parts[0] not in allowed or p.name.endswith(".tmp")
    )
