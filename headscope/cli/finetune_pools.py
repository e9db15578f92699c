"""`headscope finetune --pool`: from the last layer, the best layer or the best heads."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from headscope.errors import RunError

if TYPE_CHECKING:
    from headscope.tasks import Split, Task


def run_pools(
    model: str,
    task: Task,
    train: Split,
    dev: Split,
    output: Path,
    *,
    pool: str,
    seeds: Sequence[int],
    n_heads: int | None,
    probes: Path | None,
    quiet: bool,
    as_json: bool,
    resume: bool = False,
    **shared: Any,
) -> None:
    """Tune from every pool with every seed, and print the medians: the paper's Table 4."""
    from headscope.cli.console import shown_progress
    from headscope.engine.tune import medians
    from headscope.engine.tune_pools import parse_pools, tune_pools

    pools = parse_pools(pool)
    if output.exists() and not resume and (not output.is_dir() or any(output.iterdir())):
        raise RunError(f"{output} is not empty; add --resume to go on, or choose another -o")
    try:
        with shown_progress(quiet) as progress:
            found = tune_pools(
                model,
                task,
                train,
                dev,
                output,
                pools=pools,
                seeds=seeds,
                n_heads=n_heads,
                probes=probes,
                resume=resume,
                progress=progress,
                **shared,
            )
    except KeyboardInterrupt:
        typer.echo("headscope: interrupted; the same command with --resume goes on", err=True)
        raise typer.Exit(130) from None
    told = json.loads((output / "pools.json").read_text(encoding="utf-8"))
    if as_json:
        typer.echo(json.dumps(told, indent=2))
        return
    for name, tuned in found.items():
        scores = ", ".join(f"{metric} {value:.4f}" for metric, value in medians(tuned).items())
        reads = told["pools"][name]["reads"]
        where = f"layer {reads['layer']}" if reads["layer"] else ", ".join(reads["heads"])
        middle = f" (median of {len(tuned)} seeds)" if len(tuned) > 1 else ""
        typer.echo(f"{task.title}, {name} ({where}; {reads['token'] or 'usual'} token):")
        typer.echo(f"  {scores}{middle}")
    typer.echo(f"Models: {output}")
