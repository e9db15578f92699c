"""`headscope analyze`: one pass of a model over a corpus."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

import typer

from headscope.cli import engine_options as e
from headscope.errors import UsageError


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command()(analyze)


def parse_settings(items: list[str]) -> dict[str, dict[str, str]]:
    """`measure.parameter=value` items as parameters by measure.

    >>> parse_settings(["entropy.smoothing=1e-4"])
    {'entropy': {'smoothing': '1e-4'}}
    """
    parameters: dict[str, dict[str, str]] = {}
    for item in items:
        name, equals, value = item.partition("=")
        measure, dot, parameter = name.partition(".")
        if not (equals and dot and measure and parameter):
            raise UsageError(
                f"--set {item}: expected measure.parameter=value, such as entropy.smoothing=1e-4"
            )
        parameters.setdefault(measure, {})[parameter] = value
    return parameters


def analyze(
    model: Annotated[str, typer.Argument(help="A hub name, a model's folder, or: default.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the run goes.")],
    corpus: Annotated[
        list[str] | None,
        typer.Option(
            "--corpus", "-c", help="A file, hf:NAME[:SPLIT], or: shipped. More files may follow."
        ),
    ] = None,
    more: Annotated[list[str] | None, typer.Argument(help="More files of the corpus.")] = None,
    measures: Annotated[
        str | None,
        typer.Option(help="Measures to run, comma-separated; or: all. By default the cheap ones."),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="A parameter, such as entropy.smoothing=1e-4. Repeatable."),
    ] = None,
    roles: Annotated[
        list[Path] | None,
        typer.Option("--roles", help="A Python file with roles of your own; it is run."),
    ] = None,
    until_decided: Annotated[
        bool,
        typer.Option("--until-decided", help="Stop once every head × role is decided."),
    ] = False,
    decided_share: Annotated[
        float, typer.Option(help="Stop once this share of heads × roles is decided.")
    ] = 1.0,
    tau: Annotated[float, typer.Option(help="The score --until-decided decides about.")] = 3.0,
    alpha: Annotated[float, typer.Option(help="The error --until-decided may make.")] = 0.05,
    reader: Annotated[str | None, typer.Option(help="File format, if the suffix misleads.")] = None,
    pair: Annotated[bool, typer.Option(help="Join consecutive lines as segments A and B.")] = False,
    unit: Annotated[
        Literal["auto", "sentence", "document"],
        typer.Option(help="What a sequence of a CoNLL file is."),
    ] = "auto",
    spacing: Annotated[
        Literal["single", "original"], typer.Option(help="How gold words are joined.")
    ] = "single",
    text_column: Annotated[str | None, typer.Option(help="Column of the text (CSV, TSV).")] = None,
    pair_column: Annotated[str | None, typer.Option(help="Column of segment B.")] = None,
    annotate: Annotated[
        str | None, typer.Option(help="Annotate plain text, such as spacy:en_core_web_sm.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N sequences.")] = None,
    sample: Annotated[int | None, typer.Option(min=1, help="N sequences drawn at random.")] = None,
    seed: Annotated[int, typer.Option(help="The seed of --sample.")] = 0,
    max_tokens: Annotated[
        int | None,
        typer.Option(min=2, help="Longest sequence in tokens; by default the model's limit."),
    ] = None,
    max_characters: Annotated[
        int, typer.Option(min=1, help="Longest text in characters; more is refused.")
    ] = 65536,
    long: Annotated[
        Literal["cut", "skip"], typer.Option(help="What happens to sequences over --max-tokens.")
    ] = "cut",
    dropped: Annotated[
        Literal["refuse", "skip"],
        typer.Option(help="What happens to sequences with a word the tokenizer gives no token."),
    ] = "refuse",
    resume: Annotated[bool, typer.Option("--resume", help="Go on with an unfinished run.")] = False,
    shard_size: Annotated[int, typer.Option(min=1, help="Sequences between checkpoints.")] = 256,
    batch_tokens: Annotated[int, typer.Option(min=1, help="Tokens in a batch.")] = 4096,
    layers: Annotated[
        str | None,
        typer.Option(help="Only these layers, such as 3 or 1-4,6: the pass ends after the last."),
    ] = None,
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
    """Measure every head of MODEL over a corpus, in one pass, into a run folder."""
    sources = [*(corpus or []), *(more or [])]
    if not sources:
        raise UsageError("no corpus; expected --corpus FILE (or --corpus shipped)")
    from headscope.cli.console import shown_progress
    from headscope.cli.summary import say
    from headscope.corpora import Corpus, ReadOptions, shipped_corpus
    from headscope.store import check_writable

    check_writable(output, resume=resume)
    options = ReadOptions(
        pair=pair,
        unit=unit,
        spacing=spacing,
        text_column=text_column,
        pair_column=pair_column,
        max_characters=max_characters,
    )
    if sources == ["shipped"]:
        read = shipped_corpus(limit=limit, sample=sample, seed=seed)
    else:
        read = Corpus(
            sources,
            reader=reader,
            options=options,
            limit=limit,
            sample=sample,
            seed=seed,
            annotate=annotate,
        )
    read.scan()  # a wrong file is refused before a model is loaded

    from headscope.engine import Settings, UntilDecided, choose_measures, head_for
    from headscope.engine import analyze as run_pass
    from headscope.engine.layers import parse_layers
    from headscope.models import load

    only = None if layers is None else parse_layers(layers)
    for file in roles or []:
        from headscope.measures.roles import load_roles

        load_roles(file)
    if not (0 < decided_share <= 1 and tau > 0 and 0 < alpha < 1):
        raise UsageError(
            f"--decided-share {decided_share:g} --tau {tau:g} --alpha {alpha:g}: expected a share "
            "in (0, 1], a threshold above 0 and an error between 0 and 1"
        )
    rule = UntilDecided(tau=tau, alpha=alpha, share=decided_share, seed=seed)
    names = None if measures is None else [m.strip() for m in measures.split(",") if m.strip()]
    chosen = choose_measures(names, parse_settings(set_ or []))
    with (
        e.open_engine(engine, address, workers, threads, device) as executor,
        interruptible(output),
        shown_progress(quiet) as progress,
    ):
        progress.stage(f"Loading {model}")
        loaded = load(
            model,
            head=head_for(chosen),
            device=device,
            dtype=dtype,
            allow_pickle=allow_pickle,
            allow_remote_code=allow_remote_code,
        )
        run = run_pass(
            loaded,
            read,
            output,
            measures=chosen,
            settings=Settings(
                shard_size=shard_size,
                batch_tokens=batch_tokens,
                until_decided=rule if until_decided or decided_share < 1 else None,
                layers=only,
            ),
            max_tokens=max_tokens,
            long=long,
            dropped=dropped,
            resume=resume,
            progress=progress,
            executor=executor,
        )
    say(run, as_json=as_json)


@contextlib.contextmanager
def interruptible(output: Path) -> Iterator[None]:
    """On Ctrl-C, say how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        from headscope.store import is_run

        hint = "; the same command with --resume goes on" if is_run(output) else ""
        typer.echo(f"headscope: interrupted{hint}", err=True)
        raise typer.Exit(130) from None
