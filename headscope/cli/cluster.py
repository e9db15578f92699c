"""`headscope cluster`: kinds of heads by how far they look, from finished runs."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from headscope.errors import UsageError

if TYPE_CHECKING:
    from headscope.analyses.cluster_comparison import Found
    from headscope.analyses.clusters import Clustering
    from headscope.analyses.head_features import HeadFeatures
    from headscope.store import Run


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command()(cluster)


def cluster(
    runs: Annotated[list[Path], typer.Argument(help="A run folder, or several.")],
    k: Annotated[int, typer.Option("--k", min=2, help="How many clusters.")] = 4,
    method: Annotated[
        Literal["kmeans", "gmm"], typer.Option(help="K-means or a Gaussian mixture.")
    ] = "kmeans",
    stability: Annotated[
        bool, typer.Option("--stability", help="Refit on random halves for every k from 2 to 8.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="The seed of fits, halves and t-SNE.")] = 0,
    together: Annotated[
        bool,
        typer.Option(
            "--together/--apart", help="Several runs: one fit for all heads, or one per run."
        ),
    ] = True,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Several runs: where their comparison goes."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Say what was found as JSON.")] = False,
) -> None:
    """Cluster the heads of a run by distance features; no model is needed.

    One run gets (or replaces) its tables clusters, cluster_map and cluster_choice, and its report.
    Several runs are left alone: their comparison is a run of its own, at -o.
    """
    from headscope.analyses.cluster_comparison import (
        cluster_several,
        run_labels,
        write_comparison,
    )
    from headscope.analyses.cluster_tables import Settings, write_clusters
    from headscope.analyses.head_features import read_features
    from headscope.figures import render_report
    from headscope.store import check_writable, open_run

    settings = Settings(k=k, method=method, seed=seed, stability=stability)
    opened = [open_run(run) for run in runs]
    written: Run | None = None
    if len(opened) == 1:
        if output is not None:
            raise UsageError("-o is for several runs; the clusters of one go into the run itself")
        written = opened[0]
        found = [(read_features(written), write_clusters(written, settings))]
    else:
        if output is not None:
            check_writable(output, resume=False)
        found = cluster_several(opened, settings, together=together)
        if output is not None:
            written = write_comparison(output, opened, found, settings, together=together)
    report = None
    if written is not None:
        report = written.write_file("report.html", render_report(written))
    _say(run_labels(opened), found, report, as_json=as_json)
    if stability and len(opened) == 1 and not as_json:
        for row in opened[0].table("cluster_choice").to_pylist():
            typer.echo(
                f"k = {row['k']}: {row['stability']:.2%} of {row['n']} heads stable, "
                f"mean silhouette {row['silhouette']:.3f}"
            )


def _say(labels: list[str], found: Found, report: Path | None, *, as_json: bool) -> None:
    """The clusters of every run with their heads, and how stable they are."""
    if as_json:
        told = [
            {
                "run": label,
                "clusters": [
                    {"cluster": number, "name": name, "heads": _members(data, clustering, number)}
                    for number, name in enumerate(clustering.names)
                ],
                "stability": None if clustering.stable is None else clustering.stability,
                "silhouette": float(clustering.silhouette.mean()),
            }
            for label, (data, clustering) in zip(labels, found, strict=True)
        ]
        typer.echo(json.dumps(told, indent=2, ensure_ascii=False))
        return
    for label, (data, clustering) in zip(labels, found, strict=True):
        typer.echo(f"{label}: {len(data.heads)} heads")
        for number, name in enumerate(clustering.names):
            heads = _members(data, clustering, number)
            few = ", ".join(heads[:10]) + (" …" if len(heads) > 10 else "")
            typer.echo(f"  {number + 1} · {name or 'no name':<15} {len(heads):>4} heads: {few}")
        stable = clustering.stability
        known = "not known, too few sequences" if math.isnan(stable) else f"{stable:.2%}"
        silhouette = clustering.silhouette.mean()
        typer.echo(f"  stable on ten random halves: {known}; mean silhouette {silhouette:.3f}")
    if report is not None:
        typer.echo(f"Report: {report}")


def _members(data: HeadFeatures, clustering: Clustering, number: int) -> list[str]:
    return [
        str(head)
        for head, label in zip(data.heads, clustering.labels, strict=True)
        if label == number
    ]
