"""`headscope probe`: what each head stores."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from headscope.cli import engine_options as e


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command()(probe)


def probe(
    model: Annotated[str, typer.Argument(help="A hub name, a model's folder, or: default.")],
    task: Annotated[
        list[str],
        typer.Option("--task", help="A file of labelled texts, or a name such as MRPC."),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the run goes.")],
    more: Annotated[list[str] | None, typer.Argument(help="More tasks.")] = None,
    data: Annotated[
        Path | None, typer.Option("--data", help="For names: the folder of the data sets.")
    ] = None,
    token: Annotated[
        Literal["first", "last", "mean"] | None,
        typer.Option(help="Which token; by default last for causal models, else first."),
    ] = None,
    solver: Annotated[
        Literal["fast", "senteval"], typer.Option(help="Exact, or SentEval's RMSProp schedule.")
    ] = "fast",
    folds: Annotated[
        int | None,
        typer.Option(min=2, help="Choose by K folds; by default by the validation part, else 5."),
    ] = None,
    pairs: Annotated[
        Literal["features", "joint"],
        typer.Option(help="Pairs: |u−v| and u·v of two vectors, or one input of two segments."),
    ] = "features",
    scale: Annotated[
        Literal["none", "spread"],
        typer.Option(help="Vectors as they are, or divided by their spread: see docs/jo.md."),
    ] = "none",
    curve: Annotated[
        Literal["auto", "all", "none"],
        typer.Option(help="Numbers of top heads: some, every one, or only that of a layer."),
    ] = "auto",
    controls: Annotated[
        int, typer.Option(min=0, help="Probes per head that learn shuffled labels.")
    ] = 5,
    numbers: Annotated[
        bool, typer.Option("--numbers", help="The labels of files are numbers, not classes.")
    ] = False,
    train_rows: Annotated[
        int | None, typer.Option(min=2, help="Learn from N rows, drawn at random.")
    ] = None,
    text_column: Annotated[str | None, typer.Option(help="Column of the text.")] = None,
    pair_column: Annotated[str | None, typer.Option(help="Column of the second text.")] = None,
    label_column: Annotated[str | None, typer.Option(help="Column of the label.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="The seed of all that is random.")] = 0,
    cache: Annotated[
        Path | None,
        typer.Option(help="Keep sentence vectors here, for other tasks of the same model."),
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(min=2, help="Longest text; longer ones are cut.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with an unfinished run.")] = False,
    engine: e.Engine = "local",
    address: e.Address = None,
    workers: e.Workers = None,
    threads: e.Threads = None,
    device: e.Device = "auto",
    dtype: e.Dtype = "float32",
    allow_pickle: Annotated[
        bool, typer.Option("--allow-pickle", help="Load pickled weights: they can run any code.")
    ] = False,
    allow_remote_code: Annotated[
        bool, typer.Option("--allow-remote-code", help="Run code that comes with the model.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Say what was found as JSON.")] = False,
) -> None:
    """Train a small classifier on every head's output, and one on the best heads together."""
    from headscope.cli.analyze import interruptible
    from headscope.cli.console import shown_progress
    from headscope.cli.summary import say
    from headscope.store import check_writable

    check_writable(output, resume=resume)
    with (
        e.open_engine(engine, address, workers, threads, device) as executor,
        interruptible(output),
        shown_progress(quiet) as progress,
    ):
        from headscope.engine.probe import ProbeSettings
        from headscope.engine.probe import probe as run_probes
        from headscope.models import load
        from headscope.probes.probe_task import thinned
        from headscope.probes.task_files import read_task
        from headscope.tasks import DataOptions

        progress.stage("Reading the tasks")
        options = DataOptions(
            text_column=text_column, pair_column=pair_column, label_column=label_column
        )
        tasks = [
            thinned(
                read_task(name, data=data, options=options, numbers=numbers, seed=seed),
                train_rows,
                seed,
            )
            for name in [*task, *(more or [])]
        ]
        progress.stage(f"Loading {model}")
        loaded = load(
            model,
            device=device,
            dtype=dtype,
            allow_pickle=allow_pickle,
            allow_remote_code=allow_remote_code,
        )
        run = run_probes(
            loaded,
            tasks,
            output,
            settings=ProbeSettings(
                solver=solver,
                folds=folds,
                pairs=pairs,
                scale=scale,
                curve=curve,
                controls=controls,
                seed=seed,
            ),
            token=token,
            cache=cache,
            max_tokens=max_tokens,
            resume=resume,
            progress=progress,
            executor=executor,
        )
    say(run, as_json=as_json)
