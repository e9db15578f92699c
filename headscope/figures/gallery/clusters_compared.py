"""The same kinds of heads in several models, layer by layer (Guan et al. 2020, Figure 4)."""

from __future__ import annotations

import json
from typing import Any

import altair as alt

from headscope.figures import wording
from headscope.figures.cluster_labels import (
    ClusteredHead,
    cluster_colour,
    labels_of,
    read_clusters,
)
from headscope.figures.heatmap import Cells, ticks
from headscope.figures.layout import balanced
from headscope.figures.picture import Chart, Picture, Table
from headscope.figures.registered import RunLike, figure

NOTE = (
    "A cell is a head; its colour is its cluster, the same in all panels. Cells with a dot changed "
    "their cluster from the first panel's. Part of the change may be chance: heads on the border "
    "of two clusters change sides easily, which the column of stable heads tells."
)


@figure("clusters_compared", tables=("clusters_compared",), order=53)
def clusters_compared(run: RunLike) -> Picture:
    """One grid of heads per run, coloured by cluster."""
    heads = read_clusters(run.table("clusters_compared"))
    labels = labels_of(heads)
    runs = list(dict.fromkeys(h.run for h in heads))
    first = {h.head: h.cluster for h in heads if h.run == runs[0]}
    columns = balanced(len(runs), 3)
    panels: list[Chart] = [
        _panel(name, [h for h in heads if h.run == name], labels, 780 // columns) for name in runs
    ]
    chart = alt.concat(*panels, columns=columns).resolve_scale(color="shared")
    chart.datasets = {"heads": [_record(h, labels, first) for h in heads]}
    sentence = found(heads, runs, first)
    return Picture(
        title="Kinds of heads, model beside model",
        sentence=sentence,
        chart=chart,
        alt=f"Grids of heads coloured by cluster, one per run. {sentence}",
        note=NOTE,
        table=_table(heads, runs, labels),
        prominence=9,
    )


def _record(head: ClusteredHead, labels: dict[int, str], first: dict[Any, int]) -> dict[str, Any]:
    before = first.get(head.head, head.cluster)
    return {
        "run": head.run,
        "label": str(head.head),
        "layer": head.head.layer + 1,
        "head": head.head.head + 1,
        "cluster": labels[head.cluster],
        "changed": before != head.cluster,
        "before": labels[before],
        "stable": "yes" if head.stable else "no",
    }


def _panel(name: str, own: list[ClusteredHead], labels: dict[int, str], width: int) -> Chart:
    # Encoder and decoder of one model would share cells: their self-attention is the first stack.
    n_layers = max(h.head.layer for h in own) + 1
    n_heads = max(h.head.head for h in own) + 1
    cells = Cells.of(n_layers, n_heads, width=width)
    base = (
        alt.Chart(alt.NamedData(name="heads"))
        .transform_filter(f"datum.run == {json.dumps(name)}")
        .encode(
            x=alt.X(
                "head:O",
                title="head",
                scale=alt.Scale(domain=list(range(1, n_heads + 1)), paddingInner=cells.gap),
                axis=alt.Axis(values=ticks(n_heads), labelOverlap=False),
            ),
            y=alt.Y(
                "layer:O",
                title="layer",
                scale=alt.Scale(domain=list(range(1, n_layers + 1)), paddingInner=cells.gap),
                axis=alt.Axis(values=ticks(n_layers), labelOverlap=False),
            ),
            tooltip=[
                alt.Tooltip("label:N", title="head"),
                alt.Tooltip("cluster:N", title="cluster"),
                alt.Tooltip("before:N", title="in the first run"),
                alt.Tooltip("stable:N", title="stable"),
            ],
        )
    )
    dots = base.transform_filter("datum.changed").mark_circle(size=16, color="black", opacity=1)
    parts: list[Any] = [base.mark_rect().encode(color=cluster_colour(labels)), dots]
    return alt.layer(*parts).properties(width=cells.width, height=cells.height, title=name)


def found(heads: list[ClusteredHead], runs: list[str], first: dict[Any, int]) -> str:
    """How many heads of each further run are in another cluster than in the first."""
    parts = []
    for name in runs[1:]:
        own = [h for h in heads if h.run == name and h.head in first]
        changed = [h for h in own if h.cluster != first[h.head]]
        steady = sum(h.stable for h in changed)
        parts.append(
            f"{len(changed)} of {wording.plural(len(own), 'head')} of {name} are in another "
            f"cluster than in {runs[0]} ({steady} of them stable)"
        )
    return wording.capital(wording.listed(parts)) + "." if parts else "There is one run only."


def _table(heads: list[ClusteredHead], runs: list[str], labels: dict[int, str]) -> Table:
    rows = []
    for name in runs:
        own = [h for h in heads if h.run == name]
        counts = (str(sum(h.cluster == c for h in own)) for c in labels)
        rows.append((name, *counts, wording.percent(sum(h.stable for h in own) / len(own))))
    return Table(("run", *labels.values(), "stable heads"), tuple(rows))
