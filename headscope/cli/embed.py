"""`headscope embed`: sentence vectors from chosen heads."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from headscope.cli.engine_options import Device
from headscope.errors import UsageError


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command()(embed)


def embed(
    model: Annotated[str, typer.Argument(help="A hub name, a model's folder, or: default.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="A .npy or .parquet file.")],
    corpus: Annotated[
        list[str], typer.Option("--corpus", "-c", help="A file, or: shipped. More may follow.")
    ],
    more: Annotated[list[str] | None, typer.Argument(help="More files of the corpus.")] = None,
    heads: Annotated[
        str | None, typer.Option(help="Heads, such as 3-1,4-2. Without heads and layers: all.")
    ] = None,
    layers: Annotated[str | None, typer.Option(help="Layers, such as 3,6, behind them.")] = None,
    token: Annotated[
        Literal["first", "last", "mean"] | None,
        typer.Option(help="Which token; by default last for causal models, else first."),
    ] = None,
    reader: Annotated[str | None, typer.Option(help="File format, if the suffix misleads.")] = None,
    text_column: Annotated[str | None, typer.Option(help="Column of the text (CSV, TSV).")] = None,
    pair_column: Annotated[str | None, typer.Option(help="Column of segment B.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N sequences.")] = None,
    max_tokens: Annotated[
        int | None, typer.Option(min=2, help="Longest sequence; longer ones are cut.")
    ] = None,
    device: Device = "auto",
    allow_pickle: Annotated[
        bool, typer.Option("--allow-pickle", help="Load pickled weights: they can run any code.")
    ] = False,
    allow_remote_code: Annotated[
        bool, typer.Option("--allow-remote-code", help="Run code that comes with the model.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")] = False,
) -> None:
    """Write a vector for every sequence: the outputs of chosen heads, one after the other."""
    from headscope.cli.console import shown_progress
    from headscope.corpora import Corpus, ReadOptions, shipped_corpus

    numbers = _layers(layers)
    named = [*corpus, *(more or [])]
    options = ReadOptions(text_column=text_column, pair_column=pair_column)
    if named == ["shipped"]:
        read = shipped_corpus()
    else:
        read = Corpus(named, reader=reader, options=options, limit=limit)
    from headscope.engine.embed import Embedding, check_target, write_vectors
    from headscope.engine.vectorizer import parse_heads
    from headscope.models import load

    path = check_target(output)
    chosen = () if heads is None else parse_heads(heads)
    read.scan()
    with shown_progress(quiet) as progress:
        progress.stage(f"Loading {model}")
        loaded = load(
            model, device=device, allow_pickle=allow_pickle, allow_remote_code=allow_remote_code
        )
        embedding = Embedding.of(loaded, chosen, numbers, token, max_tokens)
        n_rows, width = write_vectors(embedding, read, path, progress)
    what = ", ".join(name for name, _ in embedding.parts[:6])
    what += f" and {len(embedding.parts) - 6} more" if len(embedding.parts) > 6 else ""
    typer.echo(
        f"{n_rows:,} vectors of {width} numbers ({what}; {embedding.how} token) of {loaded.name}"
    )
    typer.echo(f"Vectors: {path}")


def _layers(given: str | None) -> list[int]:
    """Layers counted from 1, as numbers from 0."""
    if given is None:
        return []
    listed = given.replace(",", " ").split()
    if not listed or not all(n.isdecimal() and int(n) for n in listed):
        raise UsageError(f"--layers {given}: expected layers from 1, such as 3,6")
    return [int(n) - 1 for n in listed]
