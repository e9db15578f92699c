"""`headscope passport`: everything a run knows about one head."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command()(passport)


def passport(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    head: Annotated[str, typer.Argument(help="Layer-head, counted from 1, such as 3-1.")],
    as_json: Annotated[bool, typer.Option("--json", help="The passport as JSON.")] = False,
) -> None:
    """Show one head: its roles, where it looks, what it finds, which heads are like it."""
    from headscope.figures import passport_of
    from headscope.store import open_run

    found = passport_of(open_run(run), head)
    if as_json:
        typer.echo(json.dumps(found.to_dict(), indent=2, ensure_ascii=False))
    else:
        typer.echo(str(found))
