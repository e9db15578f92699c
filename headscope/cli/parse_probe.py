"""`headscope parse-probe`: how much syntax do all heads together hold?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from headscope.cli.engine_options import Device


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(name="parse-probe")(parse_probe)


def parse_probe(
    model: Annotated[str, typer.Argument(help="A hub name, a model's folder, or: default.")],
    train: Annotated[str, typer.Option("--train", help="The treebank to learn from.")],
    dev: Annotated[str, typer.Option("--dev", help="The treebank to score on.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the run goes.")],
    vectors: Annotated[
        Path | None,
        typer.Option("--vectors", help="Word vectors in GloVe's text format, for three probes."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=2, help="Only the first N sentences of each treebank.")
    ] = None,
    sample: Annotated[
        int | None, typer.Option(min=2, help="N sentences of train, drawn at random.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="The seed of all that is random.")] = 0,
    max_epochs: Annotated[int, typer.Option(min=1, help="At most so many epochs.")] = 6,
    patience: Annotated[
        int, typer.Option(min=1, help="Stop after so many epochs without a gain.")
    ] = 2,
    held_out: Annotated[
        float, typer.Option(min=0.001, max=0.9, help="Share of train that says when to stop.")
    ] = 0.05,
    reader: Annotated[str | None, typer.Option(help="File format, if the suffix misleads.")] = None,
    max_tokens: Annotated[
        int | None,
        typer.Option(min=2, help="Longest sentence in tokens; by default the model's limit."),
    ] = None,
    long: Annotated[
        Literal["cut", "skip"], typer.Option(help="What happens to sentences over --max-tokens.")
    ] = "cut",
    dropped: Annotated[
        Literal["refuse", "skip"],
        typer.Option(help="What happens to sentences with a word the tokenizer gives no token."),
    ] = "refuse",
    resume: Annotated[bool, typer.Option("--resume", help="Go on with an unfinished run.")] = False,
    device: Device = "auto",
    allow_pickle: Annotated[
        bool, typer.Option("--allow-pickle", help="Load pickled weights: they can run any code.")
    ] = False,
    allow_remote_code: Annotated[
        bool, typer.Option("--allow-remote-code", help="Run code that comes with the model.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Say what was found as JSON.")] = False,
) -> None:
    """Train small parsers on the attention maps of MODEL, and compare them with baselines."""
    from headscope.cli.analyze import interruptible
    from headscope.cli.console import shown_progress
    from headscope.cli.summary import say
    from headscope.corpora import Corpus
    from headscope.store import check_writable

    check_writable(output, resume=resume)
    shared: dict[str, Any] = {"reader": reader, "limit": limit, "seed": seed}
    learning, scoring = Corpus(train, sample=sample, **shared), Corpus(dev, **shared)

    with interruptible(output), shown_progress(quiet) as progress:
        from headscope.engine.parse_probe import ProbeOptions, check_trees, vocabulary
        from headscope.engine.parse_probe import parse_probe as run_probes
        from headscope.models import load
        from headscope.probes.word_vectors import read_vectors

        progress.stage("Reading the treebanks")
        check_trees(learning, scoring)  # a wrong file is refused before a model is loaded
        known = None
        if vectors is not None:
            progress.stage("Reading the word vectors")
            known = read_vectors(vectors, vocabulary(learning, scoring))
        progress.stage(f"Loading {model}")
        loaded = load(
            model, device=device, allow_pickle=allow_pickle, allow_remote_code=allow_remote_code
        )
        run = run_probes(
            loaded,
            learning,
            scoring,
            output,
            vectors=known,
            options=ProbeOptions(
                seed=seed, held_out=held_out, max_epochs=max_epochs, patience=patience
            ),
            max_tokens=max_tokens,
            long=long,
            dropped=dropped,
            resume=resume,
            progress=progress,
        )
    say(run, as_json=as_json)
