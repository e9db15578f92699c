"""`headscope figure`: one figure of a run as an image."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command()(figure)


def figure(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    name: Annotated[str | None, typer.Argument(help="The figure; without it: a list.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A .png, .svg or .pdf file.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The list as JSON.")] = False,
) -> None:
    """Write one figure of a run as PNG, SVG or PDF, or list the figures it has."""
    from headscope.figures import available, draw, export_figure
    from headscope.store import open_run

    opened = open_run(run)
    if name is not None:
        typer.echo(export_figure(opened, name, output or Path(f"{name}.png")))
        return
    pictures = {f.name: draw(opened, f.name) for f in available(opened)}
    if as_json:
        rows = [
            {"name": known, "title": p.title, "sentence": p.sentence}
            for known, p in pictures.items()
        ]
        typer.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    for known, picture in pictures.items():
        typer.echo(f"{known:<20} {picture.title}")
