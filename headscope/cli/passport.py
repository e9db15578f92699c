"""`headscope passport`: everything that is known of one head, or of all of them."""

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
    head: Annotated[
        str | None, typer.Argument(help="Layer-head, counted from 1, such as 3-1; or all heads.")
    ] = None,
    also: Annotated[
        list[Path] | None,
        typer.Option("--also", help="Another run about the same heads: ablations, probes …"),
    ] = None,
    csv: Annotated[
        Path | None, typer.Option("--csv", help="All heads' passports as one CSV file.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The passport as JSON.")] = False,
) -> None:
    """Show one head: its roles, where it looks, what it finds, which heads are like it."""
    from headscope.figures import passport_of
    from headscope.figures.atlas.all_passports import all_passports, highlights
    from headscope.figures.atlas.joined import JoinedRuns
    from headscope.store import open_run

    opened = [open_run(path) for path in [run, *(also or [])]]
    joined = JoinedRuns.of(opened) if also else opened[0]
    if csv is not None:
        from pyarrow import csv as arrow_csv

        from headscope.store import to_arrow
        from headscope.store.durable import explained

        with explained("write", csv):
            arrow_csv.write_csv(to_arrow("passports", all_passports(joined)), csv)
        typer.echo(f"Passports: {csv}")
        return
    if head is None:
        listed = highlights(joined)
        if as_json:
            typer.echo(json.dumps(dict(listed), indent=2, ensure_ascii=False))
            return
        for name, words in listed:
            typer.echo(f"{name:>6}  {'; '.join(words) or '–'}")
        return
    found = passport_of(joined, head)
    if as_json:
        typer.echo(json.dumps(found.to_dict(), indent=2, ensure_ascii=False))
    else:
        typer.echo(str(found))
