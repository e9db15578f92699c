"""`headscope importance`: how much a task's loss depends on every head."""

from __future__ import annotations

import typer

from headscope.cli import task_options as o
from headscope.cli.engine_options import Device


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command()(importance)


def importance(
    model: o.ModelName,
    task: o.TaskName,
    output: o.Output,
    data: o.Data = None,
    dev: o.DevFile = None,
    text_column: o.TextColumn = None,
    pair_column: o.PairColumn = None,
    label_column: o.LabelColumn = None,
    rows: o.Rows = None,
    seed: o.Seed = 0,
    max_tokens: o.MaxTokens = None,
    device: Device = "auto",
    allow_pickle: o.AllowPickle = False,
    allow_remote_code: o.AllowRemoteCode = False,
    quiet: o.Quiet = False,
    as_json: o.AsJson = False,
) -> None:
    """Estimate from gradients what every head of MODEL is worth to a task, in one pass.

    The same pass says how much the loss reacts to attention to delimiters and other tokens (table
    gradient). For a language model's own loss over a corpus: headscope analyze --measures
    importance,gradient.
    """
    from headscope.cli.console import shown_progress
    from headscope.cli.summary import say
    from headscope.engine.importance import importance as run_importance
    from headscope.engine.task_data import load_for_task, read_part
    from headscope.store import check_writable
    from headscope.tasks import DataOptions, find_task

    check_writable(output, resume=False)
    chosen = find_task(task)
    reading = DataOptions(
        text_column=text_column,
        pair_column=pair_column,
        label_column=label_column,
        rows=rows,
        seed=seed,
    )
    with shown_progress(quiet) as progress:
        progress.stage(f"Loading {model}")
        loaded, chosen = load_for_task(
            model,
            chosen,
            device=device,
            allow_pickle=allow_pickle,
            allow_remote_code=allow_remote_code,
        )
        chosen, split = read_part(chosen, "dev", data=data, file=dev, options=reading)
        run = run_importance(
            loaded, chosen, split, output, max_tokens=max_tokens, progress=progress
        )
    say(run, as_json=as_json)
