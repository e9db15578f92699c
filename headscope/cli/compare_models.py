"""The half of `headscope compare` that runs two models: `--models BEFORE AFTER`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from headscope.errors import UsageError


def run_comparison(
    models: tuple[str, str],
    corpus: Sequence[str],
    output: Path | None,
    *,
    limit: int | None,
    twin: bool,
    annotate: str | None,
    resume: bool,
    engine: tuple[str, str | None, int | None, int | None],
    loading: Mapping[str, Any],
    as_json: bool,
) -> None:
    """One pass of two models over a corpus: similar maps, features and clusters side by side."""
    if output is None:
        raise UsageError("compare --models: expected -o RUN, where the comparison goes")
    if not corpus:
        raise UsageError("compare --models: expected --corpus FILE (or --corpus shipped)")
    from headscope.cli.console import shown_progress
    from headscope.cli.engine_options import open_engine
    from headscope.corpora import Corpus, shipped_corpus
    from headscope.store import check_writable

    check_writable(output, resume=resume)
    if list(corpus) == ["shipped"]:
        read = shipped_corpus(limit=limit)
    else:
        read = Corpus(list(corpus), limit=limit, annotate=annotate)
    read.scan()  # a wrong file is refused before a model is loaded

    from headscope.engine.compare import compare_models
    from headscope.figures import available, draw
    from headscope.models import load

    with (
        open_engine(*engine, loading["device"]) as executor,
        shown_progress() as progress,
    ):
        progress.stage(f"Loading {models[0]}")
        before = load(models[0], **loading)
        progress.stage(f"Loading {models[1]}")
        after = load(models[1], **loading)
        run = compare_models(
            before,
            after,
            read,
            output,
            twin=twin,
            resume=resume,
            progress=progress,
            executor=executor,
        )
    findings = {figure.name: draw(run, figure.name).sentence for figure in available(run)}
    report = run.path / "report.html"
    if as_json:
        told = {
            "run": str(run.path),
            "report": str(report),
            "tables": list(run.tables),
            "findings": findings,
        }
        typer.echo(json.dumps(told, indent=2, ensure_ascii=False))
        return
    typer.echo(run.record.model.name)
    for sentence in findings.values():
        typer.echo(f"  • {sentence}")
    typer.echo(f"Tables: {run.path / 'tables'} ({', '.join(run.tables)})")
    typer.echo(f"Report: {report}")
