"""`headscope study`: a paper, or a question of one's own, from one file to one report."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headscope.cli import engine_options as e
from headscope.errors import UsageError

if TYPE_CHECKING:
    from headscope.engine.executor import Executor
    from headscope.figures.study_page import StudyPage
    from headscope.studies.plan import Plan


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command()(study)


def study(
    what: Annotated[
        str,
        typer.Argument(help="A study's name, a file, or: list, new FILE.", metavar="NAME|FILE"),
    ],
    more: Annotated[
        list[str] | None, typer.Argument(help="More of --models; or the file of: new.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where runs and the report go.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(help="Instead of the paper's model: a hub name, a folder, default."),
    ] = None,
    models: Annotated[
        list[str] | None,
        typer.Option(help="For a study of several models, such as ckpt-*/: all of them."),
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="The folder of data sets; by default HEADSCOPE_DATA.")
    ] = None,
    scale: Annotated[
        str, typer.Option(help="full, or small: quick, with limits that the file states.")
    ] = "full",
    plan: Annotated[
        bool, typer.Option("--plan", help="Only show what would be done, and what it would take.")
    ] = False,
    without: Annotated[
        str | None, typer.Option(help="Steps to leave out, comma-separated, and what needs them.")
    ] = None,
    annotate: Annotated[
        str | None,
        typer.Option(help="Instead of the file's annotator: spacy:NAME, or none."),
    ] = None,
    engine: e.Engine = "local",
    address: e.Address = None,
    workers: e.Workers = None,
    threads: e.Threads = None,
    device: e.Device = "auto",
    claims: Annotated[
        bool, typer.Option("--claims", help="With list: the claims that can be judged.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Carry out a study: clark2019, kovaleva2019, pande2021, jo2020, guan2020, emergence, yours.

    It is checked as a whole before any work, and the plan is shown with an estimate of time and
    disk. Finished steps are never done twice; after a kill the same command goes on.
    """
    if what == "list":
        _list(claims=claims)
        return
    if what == "new":
        _new(more or [])
        return
    several = [*(models or []), *(more or [])]
    if more and not models:
        raise UsageError(f"{more[0]}: expected options after the study; for models: --models")
    if output is None and not plan:
        raise UsageError("no place for the study; expected -o DIR (or --plan)")
    from headscope.studies.catalogue import data_folder, find_study
    from headscope.studies.estimate import estimate, people_bytes, people_seconds, plan_lines
    from headscope.studies.reading import Wishes
    from headscope.studies.runner import check_output

    left = tuple(n.strip() for n in (without or "").split(",") if n.strip())
    wishes = Wishes(scale, model, tuple(several), annotate, left)
    file = find_study(what, wishes)
    if output is not None:
        check_output(output, file.document.name)
    made = _planned(file, data_folder(data))
    found = estimate(made, output)
    if not quiet or plan:
        typer.echo(f"{file.document.title} ({len(made.steps)} steps, scale {scale})")
        for line in plan_lines(made, found, output):
            typer.echo(line)
        typer.echo(
            f"About {people_seconds(found.total_seconds)} and {people_bytes(found.total_bytes)} "
            f"({found.basis()})."
        )
    if plan or output is None:
        return
    with e.open_engine(engine, address, workers, threads, device) as executor:
        page = _carry_out(made, output, executor, device, quiet=quiet)
    _say(page, output, quiet=quiet)


def _planned(file: object, data: Path | None) -> Plan:
    from headscope.studies.plan import make_plan
    from headscope.studies.reading import StudyFile

    assert isinstance(file, StudyFile)
    return make_plan(file, data)


def _carry_out(
    made: Plan, output: Path, executor: Executor, device: str, *, quiet: bool
) -> StudyPage:
    from headscope.cli.console import shown_progress
    from headscope.studies.conclusion import conclude
    from headscope.studies.runner import carry_out

    try:
        with shown_progress(quiet) as progress:
            outcome = carry_out(
                made,
                output,
                progress=progress,
                say=_silent if quiet else _tell,
                executor=executor,
                device=device,
            )
            progress.stage("Drawing the study's report")
            return conclude(outcome, command=shlex.join(["headscope", *sys.argv[1:]]))
    except KeyboardInterrupt:
        typer.echo("headscope: interrupted; the same command goes on", err=True)
        raise typer.Exit(130) from None


def _silent(line: str) -> None:
    """Nobody listens."""


def _tell(line: str) -> None:
    typer.echo(line)
    sys.stdout.flush()


def _say(page: StudyPage, output: Path, *, quiet: bool) -> None:
    if not quiet:
        for claim in page.claims:
            typer.echo(f"  {claim.verdict:<13} {claim.says} (here: {claim.here})")
    typer.echo(f"Report: {output / 'report.html'}")
    typer.echo(f"Summary: {output / 'study.md'}")


def _new(arguments: list[str]) -> None:
    from headscope.studies.catalogue import template

    if len(arguments) != 1:
        raise UsageError("study new: expected one file to write")
    path = Path(arguments[0]).expanduser()
    if path.exists():
        raise UsageError(f"{path} exists already; choose another name")
    if not path.parent.is_dir():
        raise UsageError(f"{path}: the folder {path.parent} does not exist")
    path.write_text(template(), encoding="utf-8")
    typer.echo(f"Study: {path}")


def _list(*, claims: bool) -> None:
    from headscope.studies.catalogue import built_in

    if claims:
        from headscope.studies.claim import CLAIMS

        for name, claim in CLAIMS.items():
            typer.echo(f"{name:<28} {claim.says} ({claim.paper})")
        return
    import tomllib

    for name, text in built_in().items():
        told = tomllib.loads(text)
        typer.echo(
            f"{name:<14} {told['title']}{' – ' if told.get('paper') else ''}{told.get('paper', '')}"
        )
