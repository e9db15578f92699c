"""`headscope report`: the report of a run, drawn again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command()(report)


def report(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="An HTML file; by default in the run.")
    ] = None,
) -> None:
    """Draw a run's report: one HTML file that works offline."""
    from headscope.figures import render_report
    from headscope.store import open_run
    from headscope.store.durable import explained, write_durably

    opened = open_run(run)
    page = render_report(opened)
    if output is None:
        path = opened.write_file("report.html", page)
    else:
        with explained("write", output):
            write_durably(output, page.encode())
        path = output
    typer.echo(path)
