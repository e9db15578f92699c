"""Probes of several models side by side: families, or one model before and after fine-tuning."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headscope.analyses.compare import different_names
from headscope.errors import RunError, UsageError
from headscope.store import Request, Run, RunRecord, RunWriter, open_run
from headscope.types import Result

_TABLES = ("probe", "probe_tasks")


def are_probes(runs: Sequence[Run]) -> bool:
    """Whether every run holds probes and nothing that is compared otherwise."""
    return all("probe" in run.tables and "sieve" not in run.tables for run in runs)


def compare_probes(runs: Sequence[Run]) -> dict[str, dict[str, list[Any]]]:
    """Both tables of all runs with the column `model`, for the tasks that all of them have.

    Models may differ in layers and heads; their tasks must be the same rows, which the numbers of
    rows and the runs' fingerprints tell.
    """
    if len(runs) < 2:
        raise UsageError("compare needs two runs or more")
    known = [_tasks(run) for run in runs]
    shared = [task for task in known[0] if all(task in other for other in known)]
    if not shared:
        raise RunError("the runs have no task in common; probe all models on the same files")
    for run, mine in zip(runs[1:], known[1:], strict=True):
        for task in shared:
            if mine[task] != known[0][task]:
                raise RunError(
                    f"{runs[0].path} and {run.path} cannot be compared: the task {task!r} has "
                    f"{known[0][task]} train, validation and test rows there, {mine[task]} here"
                )
    tables: dict[str, dict[str, list[Any]]] = {}
    for run, name in zip(runs, different_names(runs), strict=True):
        for source in _TABLES:
            table = run.table(source)
            rows = [row for row in table.to_pylist() if row["task"] in shared]
            into = tables.setdefault(f"{source}_compared", {})
            into.setdefault("model", []).extend([name] * len(rows))
            for column in table.column_names:
                into.setdefault(column, []).extend(row[column] for row in rows)
    return tables


def write_probe_comparison(
    runs: Sequence[Run], tables: dict[str, dict[str, list[Any]]], output: Path
) -> Run:
    """The comparison as a run folder of its own."""
    first, names = runs[0].record, different_names(runs)
    record = RunRecord(
        request=Request(
            model={"models": names},
            corpus=first.request.corpus,
            settings={
                "compared": [
                    {"path": str(run.path), "model": run.record.model.fingerprint} for run in runs
                ]
            },
            engine={"name": "compare"},
        ),
        model=first.model.model_copy(update={"name": ", ".join(names)}),
        corpus=first.corpus,
        counts=first.counts,
        notes=[f"{run.path}: {run.record.model.name}" for run in runs],
    )
    with RunWriter.open(output, record) as writer:
        writer.complete({"compare": Result(tables=tables)}, writer.record)
    return open_run(output)


def _tasks(run: Run) -> dict[str, tuple[int, int, int]]:
    return {
        row["task"]: (row["n_train"], row["n_validation"], row["n_test"])
        for row in run.table("probe_tasks").to_pylist()
    }
