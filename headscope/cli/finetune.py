"""`headscope finetune`: train a model on a task."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from headscope.cli.engine_options import Device
from headscope.errors import UsageError


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command()(finetune)


def finetune(
    model: Annotated[str, typer.Argument(help="A hub name, a model's folder, or: default.")],
    task: Annotated[
        str, typer.Option("--task", help="Such as SST-2, STS-B, SQuAD, classification.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the tuned model goes.")],
    data: Annotated[
        Path | None, typer.Option("--data", help="The data set's folder, or the folder of all.")
    ] = None,
    train: Annotated[Path | None, typer.Option(help="The file to learn from.")] = None,
    dev: Annotated[Path | None, typer.Option(help="The file to score on.")] = None,
    text_column: Annotated[str | None, typer.Option(help="Column of the text.")] = None,
    pair_column: Annotated[str | None, typer.Option(help="Column of segment B.")] = None,
    label_column: Annotated[str | None, typer.Option(help="Column of the label.")] = None,
    train_rows: Annotated[
        int | None, typer.Option(min=1, help="Learn from N rows, drawn at random.")
    ] = None,
    dev_rows: Annotated[
        int | None, typer.Option(min=1, help="Score on N rows, drawn at random.")
    ] = None,
    epochs: Annotated[float, typer.Option(min=0.001, help="Times the data are seen.")] = 3.0,
    batch_size: Annotated[int, typer.Option(min=1, help="Examples in a step.")] = 32,
    learning_rate: Annotated[float, typer.Option(min=1e-9, help="The highest one.")] = 2e-5,
    seed: Annotated[int, typer.Option(min=0, help="Of head, order, dropout and row draws.")] = 0,
    seeds: Annotated[
        int, typer.Option(min=1, help="Train N times, from --seed on, into OUTPUT/seed-N.")
    ] = 1,
    pool: Annotated[
        str | None,
        typer.Option(help="Classify from: last, best (layer), top-n (heads); several by commas."),
    ] = None,
    n_heads: Annotated[
        int | None, typer.Option(min=1, help="Heads of --pool top-n; by default a layer's.")
    ] = None,
    probes: Annotated[
        Path | None, typer.Option(help="A run of probes that ranks heads; else they are probed.")
    ] = None,
    patience: Annotated[
        int | None,
        typer.Option(min=1, help="Stop after N looks at held-out training rows without a gain."),
    ] = None,
    held_out: Annotated[
        float, typer.Option(min=0.001, max=0.9, help="Share of train that --patience looks at.")
    ] = 0.1,
    save_every: Annotated[int, typer.Option(min=1, help="Steps between checkpoints.")] = 200,
    max_tokens: Annotated[
        int | None, typer.Option(min=2, help="Longest input; by default 128, SQuAD 384.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with an unfinished training.")
    ] = False,
    device: Device = "auto",
    allow_pickle: Annotated[
        bool, typer.Option("--allow-pickle", help="Load pickled weights: they can run any code.")
    ] = False,
    allow_remote_code: Annotated[
        bool, typer.Option("--allow-remote-code", help="Run code that comes with the model.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Say the scores as JSON.")] = False,
) -> None:
    """Fine-tune MODEL on a task and write a Hugging Face folder, with a model card."""
    from headscope.cli.console import shown_progress
    from headscope.engine.task_data import read_part
    from headscope.tasks import DataOptions, find_task
    from headscope.tuning.folder import TuningFolder

    chosen = find_task(task)
    if seeds == 1 and pool is None:
        TuningFolder(output).check(resume=resume)
    elif output.is_file():
        raise UsageError(f"{output} is a file; choose another -o")
    columns = {
        "text_column": text_column,
        "pair_column": pair_column,
        "label_column": label_column,
        "seed": seed,
    }
    chosen, learning = read_part(
        chosen, "train", data=data, file=train, options=DataOptions(**columns, rows=train_rows)
    )
    chosen, scoring = read_part(
        chosen, "dev", data=data, file=dev, options=DataOptions(**columns, rows=dev_rows)
    )

    from headscope.engine.tune import medians, tune, tune_seeds
    from headscope.tuning import TuningOptions

    options = TuningOptions(
        epochs=epochs,
        batch_size=batch_size,
        learning_rate=learning_rate,
        seed=seed,
        patience=patience,
        held_out=held_out,
        save_every=save_every,
        max_tokens=max_tokens,
    )
    shared: dict[str, Any] = {
        "options": options,
        "resume": resume,
        "device": device,
        "allow_pickle": allow_pickle,
        "allow_remote_code": allow_remote_code,
    }
    if pool is not None:
        from headscope.cli.finetune_pools import run_pools

        run_pools(
            model,
            chosen,
            learning,
            scoring,
            output,
            pool=pool,
            seeds=range(seed, seed + seeds),
            n_heads=n_heads,
            probes=probes,
            quiet=quiet,
            as_json=as_json,
            **shared,
        )
        return
    try:
        with shown_progress(quiet) as progress:
            if seeds == 1:
                tuned = [
                    tune(model, chosen, learning, scoring, output, progress=progress, **shared)
                ]
            else:
                tuned = tune_seeds(
                    model,
                    chosen,
                    learning,
                    scoring,
                    output,
                    seeds=range(seed, seed + seeds),
                    progress=progress,
                    **shared,
                )
    except KeyboardInterrupt:
        typer.echo("headscope: interrupted; the same command with --resume goes on", err=True)
        raise typer.Exit(130) from None
    scores = medians(tuned)
    if as_json:
        told = [{"path": str(one.path), "dev": dict(one.dev)} for one in tuned]
        typer.echo(json.dumps({"runs": told, "median": scores}, indent=2))
        return
    counts = tuned[0].record["result"]["counts"]
    shown = ", ".join(f"{name} {value:.4f}" for name, value in scores.items())
    middle = f" (median of {seeds} seeds)" if seeds > 1 else ""
    typer.echo(
        f"{chosen.title}: {shown}{middle} on {counts['n_dev']} dev examples, "
        f"after {counts['n_train']} training examples"
    )
    typer.echo(f"Model: {output}")
