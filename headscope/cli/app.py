"""All verbs in one application."""

from __future__ import annotations

from typing import Annotated

import typer

from headscope.cli import (
    ablate,
    analyze,
    cluster,
    compare,
    demo,
    embed,
    export,
    figure,
    finetune,
    importance,
    measures,
    models,
    parse_probe,
    passport,
    patterns,
    probe,
    prune,
    query,
    report,
    roles,
    serve,
    study,
)
from headscope.version import __version__

app = typer.Typer(
    name="headscope",
    help="What does each attention head of a transformer do, over a corpus?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

for verb in (
    demo,
    analyze,
    roles,
    compare,
    cluster,
    probe,
    embed,
    parse_probe,
    finetune,
    ablate,
    importance,
    prune,
    patterns,
    passport,
    study,
    report,
    serve,
    figure,
    query,
    export,
    models,
    measures,
):
    verb.register(app)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"headscope {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """What does each attention head of a transformer do, over a corpus?"""
