"""`headscope report`: the report of a run drawn again, or of several with their differences."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command()(report)


def report(
    runs: Annotated[
        list[Path],
        typer.Argument(help="A run folder; several are compared head by head with the first."),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="An HTML file; by default in the run, if it is one."),
    ] = None,
) -> None:
    """Draw the report of a run, or of several of one layout: one HTML file that works offline."""
    from headscope.errors import UsageError
    from headscope.figures import render_report
    from headscope.store import open_run
    from headscope.store.durable import explained, write_durably

    if len(runs) > 1 and output is None:
        raise UsageError("a report of several runs belongs to none of them; say where with -o FILE")
    opened = [open_run(run) for run in runs]
    page = render_report(opened)
    if output is None:
        path = opened[0].write_file("report.html", page)
    else:
        with explained("write", output):
            write_durably(output, page.encode())
        path = output
    typer.echo(path)
