"""`headscope measures`: what can be measured, and with which parameters."""

from __future__ import annotations

import inspect
import json
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command()(measures)


def measures(
    name: Annotated[
        str | None, typer.Argument(help="Explain this measure; without it: list all.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """List the measures, or explain one: formula, how to read it, source, parameters."""
    from headscope.measures import MEASURES, build

    chosen = list(MEASURES) if name is None else [name]
    if as_json:
        rows = [
            {
                "name": known,
                "version": MEASURES[known].version,
                "needs": sorted(MEASURES[known].needs),
                "tables": list(MEASURES[known].tables),
                "parameters": build(known).model_dump(mode="json"),
                "summary": _summary(MEASURES[known]),
            }
            for known in chosen
        ]
        typer.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    for known in chosen:
        if name is None:
            typer.echo(f"{known:<14} {_summary(MEASURES[known])}")
            continue
        typer.echo(inspect.getdoc(MEASURES[known]) or "")
        defaults = build(known).model_dump(mode="json")
        for key, field in MEASURES[known].model_fields.items():
            typer.echo(f"\n--set {known}.{key}={defaults[key]}  {field.description or ''}")


def _summary(measure: type) -> str:
    return (inspect.getdoc(measure) or "").partition("\n")[0]
