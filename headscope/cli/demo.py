"""`headscope demo`: the embedded model on the shipped corpus, end to end."""

from __future__ import annotations

import sys
import webbrowser
from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command()(demo)


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the run goes.")] = Path(
        "headscope-demo"
    ),
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a run that is there already.")
    ] = False,
    open_: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the report when there is a screen.")
    ] = True,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Say what was found as JSON.")] = False,
) -> None:
    """Run every analysis on a real model and the shipped corpus; no network, about a minute."""
    from headscope.cli.analyze import interruptible
    from headscope.cli.console import shown_progress
    from headscope.cli.summary import say
    from headscope.corpora import shipped_corpus
    from headscope.store import check_writable, remove_run

    if overwrite:
        remove_run(output)
    check_writable(output, resume=False)
    from headscope.engine import analyze, choose_measures
    from headscope.models import DEFAULT, load

    with interruptible(output), shown_progress(quiet) as progress:
        progress.stage("Loading the default model")
        measures = [*choose_measures(), *choose_measures(["patterns"])]
        corpus = shipped_corpus()
        run = analyze(load(DEFAULT), corpus, output, measures=measures, progress=progress)
    say(run, as_json=as_json)
    if open_ and sys.stdout.isatty():
        webbrowser.open((run.path / "report.html").resolve().as_uri())
