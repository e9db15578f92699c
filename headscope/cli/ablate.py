"""`headscope ablate`: what a model can no longer do with heads switched off."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, get_args

import typer

from headscope.cli import engine_options as e
from headscope.cli import task_options as o
from headscope.errors import UsageError

Combine = Literal["single", "pairs", "all-but-one"]


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command()(ablate)


def ablate(
    model: o.ModelName,
    task: o.TaskName,
    output: o.Output,
    by: Annotated[
        str,
        typer.Option(
            "--by",
            help="head, layer, role[:NAME], cluster[:NAME], set:3-1,4-2, pairs:3-1,4-2, "
            "accumulate:importance|change|greedy",
        ),
    ] = "head",
    how: Annotated[
        Literal["uniform", "zero", "mean", "intra", "inter"],
        typer.Option("--how", help="What becomes of the heads' attention."),
    ] = "uniform",
    combine: Annotated[
        str,
        typer.Option(help="Groups: single, pairs, all-but-one; several with commas."),
    ] = "single",
    run: Annotated[
        Path | None, typer.Option("--run", help="A run with the roles or clusters to select.")
    ] = None,
    data: o.Data = None,
    dev: o.DevFile = None,
    text_column: o.TextColumn = None,
    pair_column: o.PairColumn = None,
    label_column: o.LabelColumn = None,
    rows: o.Rows = None,
    steps: Annotated[int | None, typer.Option(min=1, help="accumulate: at most N heads.")] = None,
    precision: Annotated[
        float | None,
        typer.Option(min=1e-6, help="Leave a head alone once its interval is ± this narrow."),
    ] = None,
    importance: Annotated[
        bool, typer.Option("--importance/--no-importance", help="Also the gradient's estimate.")
    ] = True,
    renormalise: Annotated[
        bool, typer.Option("--renormalise", help="intra, inter: let rows sum to 1 again.")
    ] = False,
    slow: Annotated[
        bool, typer.Option("--slow", help="Run the whole model for every ablation.")
    ] = False,
    resamples: Annotated[int, typer.Option(min=99, help="Of the paired bootstrap.")] = 9999,
    seed: o.Seed = 0,
    max_tokens: o.MaxTokens = None,
    shard_size: Annotated[int, typer.Option(min=1, help="Examples between checkpoints.")] = 128,
    resume: o.Resume = False,
    engine: e.Engine = "local",
    address: e.Address = None,
    workers: e.Workers = None,
    threads: e.Threads = None,
    device: e.Device = "auto",
    dtype: e.Dtype = "float32",
    allow_pickle: o.AllowPickle = False,
    allow_remote_code: o.AllowRemoteCode = False,
    quiet: o.Quiet = False,
    as_json: o.AsJson = False,
) -> None:
    """Switch heads of MODEL off and measure what that does to a task."""
    from headscope.ablations.selection import parse_by
    from headscope.cli.analyze import interruptible
    from headscope.cli.console import shown_progress
    from headscope.cli.summary import say
    from headscope.engine.ablate import AblationOptions
    from headscope.engine.ablate import ablate as run_ablations
    from headscope.engine.task_data import load_for_task, read_part
    from headscope.store import check_writable, open_run
    from headscope.tasks import DataOptions, find_task

    kind, _ = parse_by(by)
    ways = [way.strip() for way in combine.split(",") if way.strip()]
    if not ways or any(way not in get_args(Combine) for way in ways):
        raise UsageError(f"--combine {combine}: expected {', '.join(get_args(Combine))}")
    if kind in ("role", "cluster") and run is None:
        raise UsageError(f"--by {by} needs a run with {kind}s: add --run RUN")
    check_writable(output, resume=resume)
    roles_of = None if run is None else open_run(run)
    chosen = find_task(task)
    reading = DataOptions(
        text_column=text_column,
        pair_column=pair_column,
        label_column=label_column,
        rows=rows,
        seed=seed,
    )
    options = AblationOptions(
        by=by,
        how=how,
        combine=tuple(ways),
        renormalise=renormalise,
        steps=steps,
        precision=precision,
        importance=importance,
        n_resamples=resamples,
        seed=seed,
        shard_size=shard_size,
        max_tokens=max_tokens,
    )
    with (
        e.open_engine(engine, address, workers, threads, device) as executor,
        interruptible(output),
        shown_progress(quiet) as progress,
    ):
        progress.stage(f"Loading {model}")
        loaded, chosen = load_for_task(
            model,
            chosen,
            device=device,
            dtype=dtype,
            allow_pickle=allow_pickle,
            allow_remote_code=allow_remote_code,
        )
        chosen, split = read_part(chosen, "dev", data=data, file=dev, options=reading)
        done = run_ablations(
            loaded,
            chosen,
            split,
            output,
            options=options,
            roles_of=roles_of,
            fast=not slow,
            resume=resume,
            progress=progress,
            executor=executor,
        )
    say(done, as_json=as_json)
