"""What a finished run says on the terminal."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from headscope.store import Run


def say(run: Run, *, as_json: bool) -> None:
    """One sentence per finding, what was left out, and where to look; or JSON for scripts."""
    from headscope.figures import available, draw

    findings = {f.name: draw(run, f.name).sentence for f in available(run)}
    record = run.record
    where = run.url or str(run.path)
    report = f"{where}/report.html"
    if as_json:
        told = {
            "run": where,
            "report": report,
            "tables": list(run.tables),
            "counts": record.counts,
            "skipped": [s.model_dump() for s in record.skipped],
            "notes": list(record.notes),
            "findings": findings,
        }
        typer.echo(json.dumps(told, indent=2, ensure_ascii=False))
        return
    shapes = ", ".join(
        f"{s.n_layers} layers × {s.n_heads} heads" + ("" if s.stack == "self" else f" ({s.stack})")
        for s in record.model.stacks
    )
    counts = record.counts
    typer.echo(f"{record.model.name} ({record.model.family}): {shapes}")
    typer.echo(
        f"{counts['n_sequences']:,} sequences, {counts['n_tokens']:,} tokens "
        f"of {record.corpus.name}"
    )
    for sentence in findings.values():
        typer.echo(f"  • {sentence}")
    for skipped in record.skipped:
        typer.echo(f"  – {skipped.name} was skipped: {skipped.reason}")
    for note in record.notes:
        typer.echo(f"  – {note}")
    typer.echo(f"Tables: {where}/tables ({', '.join(run.tables)})")
    typer.echo(f"Report: {report}")
