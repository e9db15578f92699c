"""`headscope roles`: which roles each head has, tested; no model needed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from headscope.errors import UsageError

if TYPE_CHECKING:
    from headscope.analyses.role_test import RoleTest
    from headscope.store import Run


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command()(roles)


def parse_tau(text: str) -> float | Literal["auto"]:
    """A threshold from the command line.

    >>> parse_tau("2.5"), parse_tau("auto")
    (2.5, 'auto')
    """
    if text == "auto":
        return "auto"
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"--tau {text}: expected a number above 0, or auto") from None


def roles(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    tau: Annotated[
        str, typer.Option(help="The score a role takes, or: auto (next integer over the mean).")
    ] = "3",
    alpha: Annotated[float, typer.Option(help="The error that is allowed.")] = 0.05,
    test: Annotated[Literal["z", "t"], typer.Option(help="Normal or Student's test.")] = "z",
    correction: Annotated[
        Literal["bh", "holm", "none"],
        typer.Option(help="Benjamini–Hochberg, Holm or nothing, over heads × roles."),
    ] = "bh",
    resamples: Annotated[
        int, typer.Option(min=0, help="Resamples of the bootstrap check of skewed scores.")
    ] = 999,
    unsorted: Annotated[
        bool, typer.Option("--unsorted", help="List heads by number, not by how many roles.")
    ] = False,
    report: Annotated[
        bool, typer.Option("--report/--no-report", help="Draw the report again.")
    ] = True,
    as_json: Annotated[bool, typer.Option("--json", help="What was found as JSON.")] = False,
) -> None:
    """Test which roles each head of a run has, write the tables and draw the report again."""
    from headscope.analyses.role_test import RoleTestOptions
    from headscope.analyses.roles import add_roles, describe
    from headscope.store import open_run

    options = RoleTestOptions(parse_tau(tau), alpha, test, correction, n_resamples=resamples)
    opened = open_run(run)
    found = add_roles(opened, options)
    if report:
        from headscope.figures import render_report

        opened.write_file("report.html", render_report(opened))
    told = describe(found, opened)
    if as_json:
        typer.echo(json.dumps(told, indent=2, ensure_ascii=False))
    else:
        _say(opened, found, told, unsorted=unsorted)


def _say(run: Run, test: RoleTest, told: dict[str, Any], *, unsorted: bool) -> None:
    typer.echo(
        f"{run.record.model.name}: score above tau = {test.tau:g} ({test.test} test, alpha "
        f"{test.options.alpha:g}, correction {test.correction}); mean of all scores "
        f"{test.means.mean_score:.2f}"
    )
    width = max(map(len, told["roles"]), default=0)
    for role, heads in told["roles"].items():
        typer.echo(f"  {role:<{width}}  {len(heads):>3}  {' '.join(heads)}")
    for role in told["absent"]:
        typer.echo(f"  {role:<{width}}    –  absent: no sequence of the corpus has it")
    skills: dict[str, list[str]] = {str(head): [] for head in sorted(set(test.means.heads))}
    for role, heads in told["roles"].items():
        for head in heads:
            skills[head].append(role)
    skilled = [(head, own) for head, own in skills.items() if own]
    if not unsorted:
        skilled.sort(key=lambda item: -len(item[1]))
    for head, own in skilled:
        typer.echo(f"  {head:<6} {', '.join(own)}")
    n_heads, unskilled = told["n_heads"], told["unskilled"]
    typer.echo(f"{len(unskilled)} of {n_heads} heads have no role: {' '.join(unskilled) or '–'}")
    typer.echo(f"p-values in (0.05, 0.95): {test.share_between:.1%} of {told['n_tests']} tests")
    doubts = told["bootstrap"]["disagree"]
    typer.echo(
        f"bootstrap of {told['bootstrap']['checked']} skewed scores: "
        + ("it agrees everywhere" if not doubts else f"it disagrees on {len(doubts)}:")
    )
    for row in doubts:
        typer.echo(
            f"  {row['head']} {row['role']}: p = {row['p_value']:.3f}, "
            f"bootstrap {row['p_bootstrap']:.3f}"
        )
    if told["note"]:
        typer.echo(f"note: {told['note']}")
    typer.echo(f"Report: {run.path / 'report.html'}")
