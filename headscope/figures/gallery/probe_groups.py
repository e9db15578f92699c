"""Syntactic against semantic scores of heads (Jo & Myaeng 2020, Figure 5)."""

from __future__ import annotations

import math
from typing import Any, cast

import altair as alt
import numpy as np

from headscope.figures import theme, wording
from headscope.figures.heatmap import ticks
from headscope.figures.picture import Chart, Picture, Table
from headscope.figures.registered import RunLike, figure
from headscope.types import HeadId, Stack

NOTE = (
    "Each point is a head: the mean accuracy of its probes on the syntactic tasks (tree depth, top "
    "constituents, bigram shift) and on the semantic ones (tense, subject and object number, odd "
    "man out, coordination inversion). A high correlation says that some heads store more of "
    "everything; it would also arise if some heads' outputs were simply easier to read."
)


@figure("probe_groups", tables=("probe_groups",), order=74)
def probe_groups(run: RunLike) -> Picture:
    """One point per head, coloured by layer."""
    rows = [r for r in run.table("probe_groups").to_pylist() if _known(r)]
    n_layers = 1 + max((r["layer"] for r in rows), default=0)
    chart = _scatter(n_layers)
    chart.datasets = {"heads": [_point(r) for r in rows]}
    sentence = found(rows)
    return Picture(
        title="Syntax and meaning in the same heads",
        sentence=sentence,
        chart=chart,
        alt=f"A scatter plot of heads, semantic over syntactic score. {sentence}",
        note=NOTE,
        table=_table(rows),
    )


def _known(row: dict[str, Any]) -> bool:
    return math.isfinite(row["syntactic"]) and math.isfinite(row["semantic"])


def _head(row: dict[str, Any]) -> HeadId:
    return HeadId(row["layer"], row["head"], cast("Stack", row["stack"]))


def _point(row: dict[str, Any]) -> dict[str, Any]:
    numbers = {name: float(f"{row[name]:.5g}") for name in ("syntactic", "semantic")}
    return {"head": str(_head(row)), "layer": row["layer"] + 1, **numbers}


def _scatter(n_layers: int) -> Chart:
    scale = alt.Scale(zero=False, nice=True, padding=8)
    axis = alt.Axis(format=".0%", tickCount=6)
    chart: Chart = (
        alt.Chart(alt.NamedData(name="heads"))
        .mark_circle(size=80, opacity=0.85)
        .encode(
            x=alt.X("syntactic:Q", title="syntactic score (mean accuracy)", scale=scale, axis=axis),
            y=alt.Y("semantic:Q", title="semantic score (mean accuracy)", scale=scale, axis=axis),
            color=alt.Color(
                "layer:Q",
                scale=alt.Scale(scheme=theme.SHARE_SCHEME, domain=[1, max(2, n_layers)]),
                legend=alt.Legend(title="layer", format="d", values=ticks(n_layers)),
            ),
            tooltip=[
                alt.Tooltip("head:N"),
                alt.Tooltip("syntactic:Q", format=".1%"),
                alt.Tooltip("semantic:Q", format=".1%"),
            ],
        )
        .properties(width=440, height=360)
    )
    return chart


def correlation(rows: list[dict[str, Any]]) -> tuple[float, float, float]:
    """Pearson's r over heads with Fisher's 95 % interval; NaN below four heads."""
    if len(rows) < 4:
        return math.nan, math.nan, math.nan
    x, y = (np.array([r[name] for r in rows]) for name in ("syntactic", "semantic"))
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return math.nan, math.nan, math.nan
    r = float(np.corrcoef(x, y)[0, 1])
    z, half = math.atanh(min(max(r, -1 + 1e-12), 1 - 1e-12)), 1.959964 / math.sqrt(len(rows) - 3)
    return r, math.tanh(z - half), math.tanh(z + half)


def found(rows: list[dict[str, Any]]) -> str:
    """How closely the two go together, and which layer has most of both."""
    r, low, high = correlation(rows)
    if math.isnan(r):
        return "Too few heads to tell how syntactic and semantic scores go together."
    layers = sorted({row["layer"] for row in rows})

    def mean(layer: int) -> float:
        own = [row["syntactic"] + row["semantic"] for row in rows if row["layer"] == layer]
        return float(np.mean(own)) / 2

    best, worst = max(layers, key=mean), min(layers, key=mean)
    return (
        f"Syntactic and semantic scores of {wording.plural(len(rows), 'head')} correlate at "
        f"r = {r:.2f} (95 % interval {low:.2f} to {high:.2f}); the heads of layer {best + 1} score "
        f"highest on both together ({wording.percent(mean(best))} on average), those of layer "
        f"{worst + 1} lowest ({wording.percent(mean(worst))})."
    )


def _table(rows: list[dict[str, Any]]) -> Table:
    ranked = sorted(rows, key=lambda r: -(r["syntactic"] + r["semantic"]))[:10]
    cells = tuple(
        (str(_head(r)), wording.percent(r["syntactic"]), wording.percent(r["semantic"]))
        for r in ranked
    )
    return Table(("head", "syntactic", "semantic"), cells)
