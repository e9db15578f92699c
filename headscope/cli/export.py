"""`headscope export`: tables as CSV or JSON files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headscope.errors import UsageError


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command()(export)


def export(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    as_csv: Annotated[bool, typer.Option("--csv", help="As CSV (the default).")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A folder; by default RUN/export.")
    ] = None,
    table: Annotated[
        list[str] | None, typer.Option("--table", "-t", help="Only this table. Repeatable.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace files.")] = False,
) -> None:
    """Write a run's tables as CSV or JSON files."""
    if as_csv and as_json:
        raise UsageError("--csv and --json exclude each other")
    from headscope.store import export_tables, open_run

    opened = open_run(run)
    for path in export_tables(
        opened,
        output or opened.path / "export",
        "json" if as_json else "csv",
        tables=table,
        overwrite=overwrite,
    ):
        typer.echo(path)
