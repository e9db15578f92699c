"""Kinds of heads: where the clusters lie and which layers they fill (Guan et al., Figs. 2, 3)."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import altair as alt

from headscope.figures import wording
from headscope.figures.cluster_labels import (
    ClusteredHead,
    cluster_colour,
    cluster_scale,
    in_words,
    labels_of,
    read_clusters,
)
from headscope.figures.heatmap import ticks
from headscope.figures.picture import Chart, Picture, Table
from headscope.figures.registered import RunLike, figure

NOTE = (
    "Heads are clustered by 21 numbers: attention to [CLS], [SEP], commas and periods, to the "
    "token itself, and by distance. A cluster has a name only if its centre and most of its heads "
    "meet the rule: vertical, at least 50 % of attention on special tokens; else diagonal, at "
    "least 50 % of the rest within an eighth of the sequence; else, with at most 40 % of the rest "
    "so near, dense (at most 20 % special) or dense & vertical (more). Empty circles are heads "
    "that change their cluster when the fit is redone on random halves of the corpus. In t-SNE "
    "only neighbourhoods mean something, not distances; PCA keeps distances as far as it can."
)


@figure("clusters", tables=("clusters", "cluster_map", "cluster_choice"), order=50)
def clusters(run: RunLike) -> Picture:
    """t-SNE and PCA pictures of heads, and the share of each cluster in every layer."""
    heads = read_clusters(run.table("clusters"))
    labels = labels_of(heads)
    maps = run.table("cluster_map").to_pylist()
    chosen = next(row for row in run.table("cluster_choice").to_pylist() if row["chosen"])
    points = _points(heads, labels, maps)
    kept = next((r["kept_variance"] for r in maps if r["projection"] == "pca"), math.nan)
    panels: list[Chart] = [
        _scatter("tsne", labels, "t-SNE", "neighbours are alike"),
        _scatter("pca", labels, "PCA", f"two axes with {wording.percent(kept)} of the variance"),
        _layers(heads, labels),
    ]
    chart = alt.hconcat(*panels, spacing=34).resolve_scale(color="shared")
    chart.datasets = {"heads": points, "layers": _layer_records(heads, labels)}
    sentence = found(heads, chosen)
    return Picture(
        title="Kinds of heads by how far they look",
        sentence=sentence,
        chart=chart,
        alt=f"Two scatter plots of heads coloured by cluster, and clusters by layer. {sentence}",
        note=NOTE,
        table=_table(heads, labels),
        prominence=8,
    )


def _points(
    heads: list[ClusteredHead], labels: dict[int, str], maps: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    known = {(h.head.stack, h.head.layer, h.head.head): h for h in heads}
    rows = []
    for row in maps:
        head = known[row["stack"], row["layer"], row["head"]]
        rows.append(
            {
                "projection": row["projection"],
                "x": float(f"{row['x']:.5g}"),
                "y": float(f"{row['y']:.5g}"),
                "head": str(head.head),
                "cluster": labels[head.cluster],
                "stable": "stable" if head.stable else "changes",
            }
        )
    return rows


def _scatter(projection: str, labels: dict[int, str], title: str, subtitle: str) -> Chart:
    axis = alt.Axis(labels=False, ticks=False, grid=False, domain=False)
    free = alt.Scale(zero=False, nice=True, padding=8)
    panel: Chart = (
        alt.Chart(alt.NamedData(name="heads"))
        .transform_filter(f"datum.projection == '{projection}'")
        .mark_point(size=46, strokeWidth=1.6)
        .encode(
            x=alt.X("x:Q", title=None, axis=axis, scale=free),
            y=alt.Y("y:Q", title=None, axis=axis, scale=free),
            color=cluster_colour(labels),
            fill=alt.Fill("cluster:N", scale=cluster_scale(labels), legend=None),
            fillOpacity=alt.condition("datum.stable == 'stable'", alt.value(0.75), alt.value(0)),
            tooltip=[
                alt.Tooltip("head:N", title="head"),
                alt.Tooltip("cluster:N", title="cluster"),
                alt.Tooltip("stable:N", title="on random halves"),
            ],
        )
        .properties(width=250, height=250, title=alt.Title(title, subtitle=subtitle))
    )
    return panel


def _layer(stack: str, layer: int) -> str:
    return str(layer + 1) if stack == "self" else f"{stack} {layer + 1}"


def _layer_records(heads: list[ClusteredHead], labels: dict[int, str]) -> list[dict[str, Any]]:
    counts = Counter((h.head.stack, h.head.layer, h.cluster) for h in heads)
    return [
        {
            "layer": _layer(stack, layer),
            "cluster": labels[cluster],
            "order": cluster,
            "heads": n,
        }
        for (stack, layer, cluster), n in sorted(counts.items())
    ]


def _layers(heads: list[ClusteredHead], labels: dict[int, str]) -> Chart:
    layers = list(dict.fromkeys(_layer(h.head.stack, h.head.layer) for h in heads))
    shown = [layers[i - 1] for i in ticks(len(layers), most=16)]
    height = max(120, min(250, 34 * len(layers)))
    panel: Chart = (
        alt.Chart(alt.NamedData(name="layers"))
        .mark_bar()
        .encode(
            x=alt.X("heads:Q", title="heads", stack="zero", axis=alt.Axis(grid=False, format="d")),
            y=alt.Y(
                "layer:O",
                title="layer",
                scale=alt.Scale(domain=layers, paddingInner=0.12, paddingOuter=0.05),
                axis=alt.Axis(values=shown),
            ),
            color=cluster_colour(labels),
            order=alt.Order("order:Q"),
            tooltip=[
                alt.Tooltip("layer:O", title="layer"),
                alt.Tooltip("cluster:N", title="cluster"),
                alt.Tooltip("heads:Q", title="heads"),
            ],
        )
        .properties(
            width=250, height=height, title=alt.Title("By layer", subtitle="how many heads of each")
        )
    )
    return panel


def found(heads: list[ClusteredHead], chosen: dict[str, Any]) -> str:
    """How large the clusters are, which have names, and how stable they are."""
    n = len(heads)
    parts = []
    for cluster, size in sorted(Counter(h.cluster for h in heads).items()):
        name = next(h.name for h in heads if h.cluster == cluster)
        what = in_words(name) if name else "without a name"
        parts.append(f"{size} {what}")
    sentence = (
        f"The {wording.plural(n, 'head')} fall into {len(parts)} clusters: {wording.listed(parts)}"
    )
    if not math.isnan(chosen["stability"]):
        sentence += (
            f"; {wording.percent(chosen['stability'])} keep their cluster in ten fits on random "
            "halves of the corpus"
        )
    return f"{sentence} (mean silhouette {chosen['silhouette']:.2f})."


def _table(heads: list[ClusteredHead], labels: dict[int, str]) -> Table:
    rows = []
    for cluster, label in labels.items():
        own = [h for h in heads if h.cluster == cluster]
        layers = Counter(h.head.layer + 1 for h in own)
        most = ", ".join(str(layer) for layer, _ in layers.most_common(3))
        examples = ", ".join(str(h.head) for h in own[:4])
        stable = f"{sum(h.stable for h in own)} of {len(own)}"
        rows.append(
            (label, str(len(own)), wording.percent(len(own) / len(heads)), stable, most, examples)
        )
    columns = ("cluster", "heads", "share", "stable", "mostly in layers", "such as")
    return Table(columns, tuple(rows))
