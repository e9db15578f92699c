"""A run that no pass made: tables that steps put together, with a report like any other."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headscope.store import CorpusRecord, ModelRecord, Request, Run, RunRecord, RunWriter, open_run
from headscope.store import remove_run as remove
from headscope.types import Result


def write_tables(
    folder: Path,
    tables: Mapping[str, Mapping[str, list[Any]]],
    *,
    model: ModelRecord,
    corpus: CorpusRecord | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Run:
    """Write tables as a run of its own; one that a crash left there is replaced."""
    from headscope.figures import render_report

    remove(folder)
    record = RunRecord(
        request=Request(settings=dict(settings or {}), engine={"name": "study"}),
        model=model,
        corpus=corpus or CorpusRecord(),
    )
    with RunWriter.open(folder, record) as writer:
        writer.complete({"study": Result(tables=dict(tables))}, writer.record)
    run = open_run(folder)
    run.write_file("report.html", render_report(run))
    return run
