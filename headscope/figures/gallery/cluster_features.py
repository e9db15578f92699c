"""What makes each cluster: box plots of the 21 distance features (Guan et al. 2020, Figure 1)."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np

from headscope.figures import wording
from headscope.figures.cluster_labels import cluster_colour, labels_of, read_clusters
from headscope.figures.picture import Chart, Picture, Table
from headscope.figures.registered import RunLike, figure

NOTE = (
    "Shares of a head's attention that add up to 100 %: to [CLS], [SEP], commas and periods; to "
    "the token itself; and in 16 windows of distance to either side, each a sixteenth of the "
    "sequence wide (1 is nearest). Boxes hold the middle half of a cluster's heads, the line is "
    "the median, whiskers reach to the least and the greatest. Even attention, too, has more "
    "weight in near windows, since there are more near pairs."
)
_SPECIAL = {"cls": "[CLS]", "sep": "[SEP]", "comma": "comma", "period": "period", "self": "self"}


def feature_label(name: str) -> str:
    """A feature for people: windows are counted from 1.

    >>> feature_label("sep"), feature_label("w00")
    ('[SEP]', '1')
    """
    return _SPECIAL.get(name) or str(int(name[1:]) + 1)


@figure("cluster_features", tables=("clusters", "distance"), order=51)
def cluster_features(run: RunLike) -> Picture:
    """One panel of boxes per cluster, all on one scale."""
    heads = read_clusters(run.table("clusters"))
    labels = labels_of(heads)
    where = {(h.head.stack, h.head.layer, h.head.head): h.cluster for h in heads}
    rows = run.table("distance").to_pylist()
    features = list(dict.fromkeys(row["feature"] for row in rows))
    groups: dict[tuple[int, str], list[float]] = {}
    for row in rows:
        key = row["stack"], row["layer"], row["head"]
        if key in where:
            groups.setdefault((where[key], row["feature"]), []).append(row["mean"])
    records = [_box(labels[c], feature, values) for (c, feature), values in groups.items()]
    shown = [feature_label(f) for f in features]
    panels: list[Chart] = [
        _panel(label, labels, shown, sum(h.cluster == c for h in heads))
        for c, label in labels.items()
    ]
    chart = alt.concat(*panels, columns=2, spacing=24)
    chart.datasets = {"boxes": records}
    medians = {key: float(np.median(values)) for key, values in groups.items()}
    sentence = found(labels, features, medians)
    return Picture(
        title="What the heads of each cluster look at",
        sentence=sentence,
        chart=chart,
        alt=f"Box plots of 21 distance features, one panel per cluster. {sentence}",
        note=NOTE,
        table=_table(labels, features, medians),
        prominence=3,
    )


def _box(label: str, feature: str, values: list[float]) -> dict[str, Any]:
    ends = np.percentile(values, [0, 25, 50, 75, 100])
    names = ("least", "q1", "median", "q3", "greatest")
    numbers = {name: float(f"{x:.5g}") for name, x in zip(names, ends, strict=True)}
    return {"cluster": label, "feature": feature_label(feature), **numbers}


def _panel(label: str, labels: dict[int, str], features: list[str], n: int) -> Chart:
    x = alt.X(
        "feature:N",
        title="special tokens, itself, and windows of distance",
        scale=alt.Scale(domain=features, paddingInner=0.25),
        axis=alt.Axis(labelAngle=-45, labelOverlap=False),
    )
    scale = alt.Scale(domain=[0, 1], nice=False)
    axis = alt.Axis(format=".0%", tickCount=5)
    y: dict[str, Any] = {"title": "share of attention", "scale": scale, "axis": axis}
    base = alt.Chart(alt.NamedData(name="boxes")).transform_filter(alt.datum.cluster == label)
    base = base.encode(
        x=x,
        color=cluster_colour(labels, legend=False),
        tooltip=[
            alt.Tooltip("feature:N", title="attention to"),
            alt.Tooltip("median:Q", title="median", format=".1%"),
            alt.Tooltip("q1:Q", title="lower quarter", format=".1%"),
            alt.Tooltip("q3:Q", title="upper quarter", format=".1%"),
            alt.Tooltip("least:Q", title="least", format=".1%"),
            alt.Tooltip("greatest:Q", title="greatest", format=".1%"),
        ],
    )
    parts: list[Any] = [
        base.mark_rule(strokeWidth=1).encode(y=alt.Y("least:Q", **y), y2="greatest:Q"),
        base.mark_bar(size=9, opacity=0.6).encode(y=alt.Y("q1:Q", **y), y2="q3:Q"),
        base.mark_tick(thickness=2.2, size=11, orient="horizontal").encode(
            y=alt.Y("median:Q", **y)
        ),
    ]
    return alt.layer(*parts).properties(
        width=390,
        height=150,
        title=alt.Title(f"Cluster {label}", subtitle=wording.plural(n, "head")),
    )


def _far(features: list[str]) -> list[str]:
    return [f for f in features if f.startswith("w") and f not in ("w00", "w01")]


def found(
    labels: dict[int, str], features: list[str], medians: dict[tuple[int, str], float]
) -> str:
    """The feature with the highest median in each cluster."""
    parts = []
    for cluster, label in labels.items():
        top = max(features, key=lambda f: medians[cluster, f])
        where = feature_label(top)
        where = f"distance window {where}" if top.startswith("w") else where
        parts.append(f"cluster {label} on {where} ({wording.percent(medians[cluster, top])})")
    return f"By their medians, the clusters put most of their attention: {wording.listed(parts)}."


def _table(
    labels: dict[int, str], features: list[str], medians: dict[tuple[int, str], float]
) -> Table:
    groups = {
        "[CLS]": ["cls"],
        "[SEP]": ["sep"],
        "commas, periods": ["comma", "period"],
        "itself": ["self"],
        "near (≤ 1/8)": ["w00", "w01"],
        "farther": _far(features),
    }
    rows = [
        (
            label,
            *(
                wording.percent(sum(medians[cluster, f] for f in names if f in features))
                for names in groups.values()
            ),
        )
        for cluster, label in labels.items()
    ]
    return Table(("sum of medians", *groups), tuple(rows))
