"""`headscope compare`: what differs between runs of several models over the same texts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

import typer

from headscope.cli import engine_options as e
from headscope.errors import UsageError


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command()(compare)


def compare(
    runs: Annotated[
        list[Path] | None, typer.Argument(help="Run folders; the first is the one before.")
    ] = None,
    models: Annotated[
        tuple[str, str] | None,
        typer.Option(help="Instead of runs: two models, BEFORE AFTER, compared map by map."),
    ] = None,
    corpus: Annotated[
        list[str] | None, typer.Option("--corpus", "-c", help="With --models: a file, or: shipped.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="With --models: only the first N sequences.")
    ] = None,
    annotate: Annotated[
        str | None, typer.Option(help="With --models: as in analyze, for plain text.")
    ] = None,
    twin: Annotated[
        bool, typer.Option("--twin/--no-twin", help="With --models: also a random twin.")
    ] = True,
    resume: Annotated[
        bool, typer.Option("--resume", help="With --models: go on with an unfinished run.")
    ] = False,
    engine: e.Engine = "local",
    address: e.Address = None,
    workers: e.Workers = None,
    threads: e.Threads = None,
    device: e.Device = "auto",
    dtype: e.Dtype = "float32",
    allow_pickle: Annotated[
        bool,
        typer.Option("--allow-pickle", help="Load pickled weights: they can run any code."),
    ] = False,
    allow_remote_code: Annotated[
        bool, typer.Option("--allow-remote-code", help="Run code that comes with a hub model.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where tables and report go.")
    ] = None,
    tau: Annotated[str, typer.Option(help="The score a role takes, or: auto.")] = "3",
    alpha: Annotated[float, typer.Option(help="The error that is allowed.")] = 0.05,
    test: Annotated[Literal["z", "t"], typer.Option(help="Normal or Student's test.")] = "z",
    correction: Annotated[
        Literal["bh", "holm", "none"], typer.Option(help="Over heads × roles.")
    ] = "bh",
    as_json: Annotated[bool, typer.Option("--json", help="What was found as JSON.")] = False,
) -> None:
    """Compare runs on the same sequences: changed scores per role, roles gained and lost."""
    if models is not None:
        from headscope.cli.compare_models import run_comparison

        if runs:
            raise UsageError("compare: expected run folders or --models, not both")
        run_comparison(
            models,
            corpus or [],
            output,
            limit=limit,
            twin=twin,
            annotate=annotate,
            resume=resume,
            engine=(engine, address, workers, threads),
            loading={
                "device": device,
                "dtype": dtype,
                "allow_pickle": allow_pickle,
                "allow_remote_code": allow_remote_code,
            },
            as_json=as_json,
        )
        return
    if runs is None or len(runs) < 2:
        raise UsageError("compare: expected two run folders or more, the one before first")
    from headscope.analyses.compare import compare_runs, write_comparison
    from headscope.analyses.role_test import RoleTestOptions
    from headscope.cli.roles import parse_tau
    from headscope.store import check_writable, open_run

    if output is not None:
        check_writable(output, resume=False)
    options = RoleTestOptions(parse_tau(tau), alpha, test, correction)
    opened = [open_run(path) for path in runs]
    from headscope.analyses.probe_models import are_probes

    if are_probes(opened):
        from headscope.cli.compare_probes import run_probe_comparison

        run_probe_comparison(opened, output, as_json=as_json)
        return
    tables = compare_runs(opened, options)
    if output is not None:
        from headscope.figures import render_report

        written = write_comparison(opened, tables, output, options)
        written.write_file("report.html", render_report(written))
    if as_json:
        rows = {
            name: [
                {k: (None if v != v else v) for k, v in zip(columns, row, strict=True)}
                for row in zip(*columns.values(), strict=True)
            ]
            for name, columns in tables.items()
        }
        typer.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    changes, moves = tables["role_changes"], tables["role_moves"]
    for model in dict.fromkeys(changes["model"]):
        typer.echo(f"{model} against {opened[0].record.model.name}: change of the mean score")
        for i, name in enumerate(changes["model"]):
            if name == model:
                typer.echo(
                    f"  {changes['third'][i]:<8} {changes['role'][i]:<14} "
                    f"{changes['change'][i]:+.3f}  [{changes['ci_low'][i]:+.3f}, "
                    f"{changes['ci_high'][i]:+.3f}]  n = {changes['n'][i]}"
                )
        mine = [i for i, name in enumerate(moves["model"]) if name == model]
        typer.echo(f"roles gained or lost: {len(mine)}")
        for i in mine:
            head = f"{moves['layer'][i] + 1}-{moves['head'][i] + 1}"
            typer.echo(
                f"  {head:<6} {moves['move'][i]:<6} {moves['role'][i]:<14} "
                f"{moves['mean_before'][i]:.2f} → {moves['mean_after'][i]:.2f}"
            )
    if output is not None:
        typer.echo(f"Report: {output / 'report.html'}")
