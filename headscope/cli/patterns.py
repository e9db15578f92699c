"""`headscope patterns`: label maps, train the network that names shapes, see how good it is."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headscope.errors import UsageError

if TYPE_CHECKING:
    from headscope.measures.patterns.evaluation import Evaluation, Score
    from headscope.measures.patterns.labelled_maps import LabelledMaps

_LABELS = "A label file (.json, its maps beside it as .npz)."


def register(app: typer.Typer) -> None:
    """Add the verb and its parts."""
    verb = typer.Typer(
        no_args_is_help=True,
        help="Shapes of attention maps: draw maps, label them, train the network, evaluate it.",
    )
    for part in (evaluate, train, sample, label):
        verb.command()(part)
    app.add_typer(verb, name="patterns")


def evaluate(
    weights: Annotated[
        Path | None, typer.Option(help="Weights of your own; by default the shipped ones.")
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(help=f"{_LABELS} By default the shipped test maps.")
    ] = None,
    split: Annotated[str | None, typer.Option(help="Only maps of this split.")] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="As Markdown tables.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Compare the network's names with labels given by eye: confusion matrix and macro-F1."""
    from headscope.measures.patterns.evaluation import evaluated
    from headscope.measures.patterns.labelled_maps import load_maps, shipped_maps
    from headscope.measures.patterns.network import network_at

    maps = shipped_maps(split or "test") if labels is None else load_maps(labels).only(split)
    if not len(maps):
        where = f" of split {split!r}" if split else ""
        raise UsageError(f"no labelled maps{where} in {labels or 'the shipped set'}")
    found = evaluated(network_at("" if weights is None else str(weights)), maps)
    typer.echo(json.dumps(_told(found), indent=2) if as_json else _tables(found, markdown=markdown))


def train(
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the weights go.")],
    labels: Annotated[
        Path | None, typer.Option(help=f"Learn from your labels too. {_LABELS}")
    ] = None,
    maps: Annotated[int | None, typer.Option(min=10, help="Made-up maps to learn from.")] = None,
    epochs: Annotated[int | None, typer.Option(min=1, help="Times through them.")] = None,
    steps: Annotated[
        int | None, typer.Option(min=0, help="Steps with real maps after that; 0 for none.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of maps and weights.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only the score.")] = False,
) -> None:
    """Train the network on made-up maps, then on real ones; without options: as the shipped one."""
    from headscope.measures.patterns import real_training, training
    from headscope.measures.patterns.evaluation import evaluate as compare
    from headscope.measures.patterns.labelled_maps import load_maps, shipped_maps
    from headscope.measures.patterns.network import load_network, save_network

    if output.suffix != ".safetensors":
        raise UsageError(f"--output {output}: expected a name that ends in .safetensors")
    own = load_maps(labels).only() if labels is not None else None
    if own is not None and not len(own):
        raise UsageError(f"--labels {labels}: no map in it has a label yet")

    def said(words: str) -> None:
        if not quiet:
            typer.echo(words, err=True)

    seed = training.SEED if seed is None else seed
    images, targets = training.synthetic_images(maps or training.N_MAPS, seed, said)
    network = training.train_network(
        images, targets, epochs=epochs or training.EPOCHS, seed=seed, said=said
    )
    steps = real_training.STEPS if steps is None else steps
    if steps:
        real = shipped_maps("training")
        network = real_training.learn_from_real(
            network,
            images,
            targets,
            real if own is None else real.with_more(own),
            steps=steps,
            seed=seed,
            said=said,
        )
    output.parent.mkdir(parents=True, exist_ok=True)
    save_network(network, output)
    found = compare(load_network(output), shipped_maps("test"))
    typer.echo(f"{output}: macro-F1 {found.macro_f1:.3f} on {found.confusion.sum()} real maps")


def sample(
    model: Annotated[str, typer.Argument(help="A hub name, a model's folder, or: default.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The label file to begin.")],
    corpus: Annotated[str, typer.Option("--corpus", "-c", help="A file, or: shipped.")] = "shipped",
    n: Annotated[int, typer.Option("-n", min=1, help="Maps to draw.")] = 100,
    texts: Annotated[int, typer.Option(min=1, help="Sequences to draw them from.")] = 20,
    seed: Annotated[int, typer.Option(help="Seed of the draw.")] = 0,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a label file.")] = False,
) -> None:
    """Draw maps of a model to be labelled, evenly over crude kinds so that rare shapes occur."""
    if output.suffix != ".json":
        raise UsageError(f"--output {output}: expected a name that ends in .json")
    if output.exists() and not overwrite:
        raise UsageError(f"{output} exists already; --overwrite replaces it")
    from headscope.corpora import Corpus, shipped_corpus

    read = shipped_corpus() if corpus == "shipped" else Corpus(corpus)
    read.scan()
    sequences = list(read.sequences())
    chosen = random.Random(seed).sample(sequences, min(texts, len(sequences)))
    from headscope.measures.patterns.labelled_maps import save_maps
    from headscope.measures.patterns.sampling import candidates, draw_evenly
    from headscope.models import load

    drawn = draw_evenly(list(candidates(load(model), chosen)), n, seed, per_head=n)
    save_maps(output, drawn)
    typer.echo(f"{len(drawn)} maps; label them with: headscope patterns label {output}")


def label(
    file: Annotated[Path, typer.Argument(help=_LABELS)],
    again: Annotated[
        int, typer.Option(min=0, help="Look again, blind, at N maps that have a label.")
    ] = 0,
    seed: Annotated[int, typer.Option(help="Which N maps --again shows.")] = 0,
) -> None:
    """Show map after map in the terminal and take one key for each; u takes the last one back."""
    from headscope.measures.patterns.as_text import as_text
    from headscope.measures.patterns.classes import CLASSES
    from headscope.measures.patterns.labelled_maps import load_maps, save_labels
    from headscope.measures.patterns.rulers import rulers

    maps = load_maps(file)
    field = "second" if again else "label"
    todo = _to_label(maps, again, seed)
    keys = {c.key: c.name for c in CLASSES}
    at, done = 0, len(maps) - len(todo)
    while at < len(todo):
        typer.echo(f"\n{as_text(maps.maps[todo[at]])}\n  {rulers(maps.maps[todo[at]])}\n")
        for shape in CLASSES:
            typer.echo(f"  {shape.key}  {shape.name:<18} {shape.rule}")
        progress = f"{at + 1} of {len(todo)}" if again else f"{done + at + 1} of {len(maps)}"
        typer.echo(f"  u  undo   s  skip   q  quit                        map {progress}")
        pressed = _key()
        if pressed in ("q", ""):
            break
        if pressed == "u" and at:
            at -= 1
            maps = maps.labelled(todo[at], None, field)
        elif pressed in keys:
            maps = maps.labelled(todo[at], keys[pressed], field)
            at += 1
        elif pressed == "s":
            at += 1
        save_labels(file, maps.labels)
    named = sum(getattr(one, field) is not None for one in maps.labels)
    typer.echo(f"{file}: {named} of {len(maps)} maps have a {field}")


def _key() -> str:
    """One key from the terminal, or one letter of what is piped in; nothing at its end."""
    if sys.stdin.isatty():
        import click

        try:
            return click.getchar().lower()
        except (EOFError, KeyboardInterrupt):
            return ""
    return sys.stdin.read(1).lower()


def _to_label(maps: LabelledMaps, again: int, seed: int) -> list[int]:
    if not again:
        return [i for i, one in enumerate(maps.labels) if one.label is None]
    labelled = [i for i, one in enumerate(maps.labels) if one.label and one.second is None]
    return random.Random(seed).sample(labelled, min(again, len(labelled)))


def _told(found: Evaluation) -> dict[str, Any]:
    from headscope.measures.patterns.classes import PATTERNS
    from headscope.measures.patterns.evaluation import cohens_kappa

    def of(one: Score) -> dict[str, Any]:
        return {
            "n": int(one.confusion.sum()),
            "macro_f1": one.macro_f1,
            "accuracy": one.accuracy,
            "f1": {name: _number(x) for name, x in zip(PATTERNS, one.f1, strict=True)},
            "confusion": one.confusion.tolist(),
        }

    told: dict[str, Any] = {
        **of(found.overall),
        "models": list(found.models),
        "accuracy_of_model": {name: one.accuracy for name, one in found.models.items()},
        "looks": {
            name: {
                "n": int(one.confusion.sum()),
                "agreement": one.accuracy,
                "kappa": cohens_kappa(one.confusion),
                "macro_f1": one.macro_f1,
            }
            for name, one in found.looks.items()
        },
    }
    if found.agreed is not None:
        told["agreed"] = of(found.agreed)
    return told


def _number(x: float) -> float | None:
    return None if x != x else float(x)


def _tables(found: Evaluation, *, markdown: bool) -> str:
    from headscope.measures.patterns.classes import PATTERNS
    from headscope.measures.patterns.evaluation import cohens_kappa

    overall = found.overall
    head = ["labelled \\ named", *PATTERNS, "precision", "recall", "F1"]
    rows = [
        [
            name,
            *(str(n) for n in overall.confusion[i]),
            *(f"{x[i]:.2f}" for x in (overall.precision, overall.recall, overall.f1)),
        ]
        for i, name in enumerate(PATTERNS)
    ]
    if markdown:
        lines = ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows)]
    else:
        widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
        lines = [
            "  ".join(
                cell.ljust(w) if i == 0 else cell.rjust(w)
                for i, (cell, w) in enumerate(zip(row, widths, strict=True))
            )
            for row in (head, *rows)
        ]
    each = (f"{name} {s.accuracy:.3f} of {s.confusion.sum()}" for name, s in found.models.items())
    lines += [
        "",
        f"macro-F1 {overall.macro_f1:.3f}, accuracy {overall.accuracy:.3f} on "
        f"{overall.confusion.sum()} maps of {len(found.models)} models ({', '.join(each)})",
    ]
    lines += [
        f"{name}, {one.confusion.sum()} of them: the same label for {one.accuracy:.1%}, Cohen's "
        f"kappa {cohens_kappa(one.confusion):.2f}, macro-F1 {one.macro_f1:.3f}"
        for name, one in found.looks.items()
    ]
    if (agreed := found.agreed) is not None:
        shapes = (
            f"{name} {f1:.2f} of {n}"
            for name, f1, n in zip(PATTERNS, agreed.f1, agreed.confusion.sum(axis=1), strict=True)
        )
        lines.append(
            f"on the {agreed.confusion.sum()} maps all annotators name alike: accuracy "
            f"{agreed.accuracy:.3f}, F1 {', '.join(shapes)}"
        )
    return "\n".join(lines)
