"""`headscope prune`: a model without some of its heads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from headscope.cli import task_options as o
from headscope.cli.engine_options import Device


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command()(prune)


def prune(
    model: o.ModelName,
    heads: Annotated[str, typer.Option("--heads", help="Heads to remove, such as 3-1,4-2.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the model goes.")],
    device: Device = "auto",
    allow_pickle: o.AllowPickle = False,
    allow_remote_code: o.AllowRemoteCode = False,
    quiet: o.Quiet = False,
    as_json: o.AsJson = False,
) -> None:
    """Write MODEL without some heads as a folder that plain transformers loads."""
    from headscope.cli.console import shown_progress
    from headscope.engine.prune import prune_folder
    from headscope.models import head_set

    chosen = head_set(heads)
    with shown_progress(quiet) as progress:
        report = prune_folder(
            model,
            chosen,
            output,
            progress=progress,
            device=device,
            allow_pickle=allow_pickle,
            allow_remote_code=allow_remote_code,
        )
    if as_json:
        typer.echo(json.dumps(report.to_dict(), indent=2))
        return
    pruned = report.pruned
    typer.echo(
        f"{len(pruned.heads)} heads removed; loaded again, the outputs are those of the zero edit "
        f"(largest difference {report.largest_difference:.1g})"
    )
    if pruned.shrunk:
        typer.echo("The projections are smaller.")
    else:
        typer.echo(f"Output slices set to 0 ({pruned.n_zeroed:,} weights): {pruned.why_not}.")
    typer.echo(
        f"Parameters: {pruned.n_parameters_before:,} → {pruned.n_parameters:,}; "
        f"bytes: {report.bytes_before:,} → {report.bytes_after:,}; forward pass: "
        f"{report.seconds_before * 1000:.1f} → {report.seconds_after * 1000:.1f} ms"
    )
    typer.echo(f"Model: {report.path}")
