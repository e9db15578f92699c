"""How many kinds of heads there are: silhouette and stability by number of clusters."""

from __future__ import annotations

import math
from typing import Any

import altair as alt

from headscope.figures import wording
from headscope.figures.picture import Chart, Picture, Table
from headscope.figures.registered import RunLike, figure
from headscope.figures.theme import OKABE_ITO

NOTE = (
    "The silhouette compares a head's distance to its own cluster with that to the nearest other: "
    "1 is well apart, 0 on the border, and under about 0.25 hardly any structure. Stability is the "
    "share of heads that keep their cluster in all of ten fits on random halves of the corpus "
    "(`headscope cluster RUN --stability` gives it for every number). The filled points are the "
    "clusters shown above; Guan et al. 2020 chose four by eye."
)


@figure("cluster_choice", tables=("cluster_choice",), order=52)
def cluster_choice(run: RunLike) -> Picture:
    """Silhouette for 2 to 8 clusters, and stability where it was asked for."""
    rows = sorted(run.table("cluster_choice").to_pylist(), key=lambda row: row["k"])
    ks = [row["k"] for row in rows]
    panels = [_panel("silhouette", "Mean silhouette", ".2f", ks, OKABE_ITO["blue"])]
    if sum(not math.isnan(row["stability"]) for row in rows) > 1:
        panels.append(_panel("stability", "Stable heads", ".0%", ks, OKABE_ITO["vermillion"]))
    chart = alt.hconcat(*panels, spacing=40)
    chart.datasets = {"choices": [_record(row) for row in rows]}
    sentence = found(rows)
    return Picture(
        title="How many kinds of heads there are",
        sentence=sentence,
        chart=chart,
        alt=f"Lines over the number of clusters. {sentence}",
        note=NOTE,
        table=Table(
            ("clusters", "mean silhouette", "stable heads"),
            tuple(
                (str(r["k"]), f"{r['silhouette']:.3f}", wording.percent(r["stability"]))
                for r in rows
            ),
        ),
        prominence=1,
    )


def _record(row: dict[str, Any]) -> dict[str, Any]:
    numbers = {name: row[name] for name in ("silhouette", "stability")}
    known = {n: float(f"{x:.5g}") if math.isfinite(x) else None for n, x in numbers.items()}
    return {"k": row["k"], "chosen": row["chosen"], **known}


def _panel(what: str, title: str, form: str, ks: list[int], colour: str) -> Chart:
    base = (
        alt.Chart(alt.NamedData(name="choices"))
        .transform_filter(f"isValid(datum.{what})")
        .encode(
            x=alt.X(
                "k:Q",
                title="clusters",
                scale=alt.Scale(domain=[min(ks) - 0.3, max(ks) + 0.3], nice=False),
                axis=alt.Axis(values=ks, format="d", grid=False),
            ),
            y=alt.Y(
                f"{what}:Q",
                title=None,
                scale=alt.Scale(domain=[0, 1], nice=False),
                axis=alt.Axis(format=form, tickCount=5),
            ),
            tooltip=[
                alt.Tooltip("k:Q", title="clusters"),
                alt.Tooltip(f"{what}:Q", title=title, format=".3f"),
            ],
        )
    )
    fill = alt.condition("datum.chosen", alt.value(1.0), alt.value(0.0))
    parts: list[Any] = [
        base.mark_line(color=colour, strokeWidth=2),
        base.mark_point(color=colour, fill=colour, size=70, strokeWidth=2).encode(fillOpacity=fill),
    ]
    return alt.layer(*parts).properties(width=330, height=170, title=title)


def found(rows: list[dict[str, Any]]) -> str:
    """The number of clusters that lie best apart, beside the one that was chosen."""
    known = [row for row in rows if math.isfinite(row["silhouette"])]
    if not known:
        return "No number of clusters could be compared."
    best = max(known, key=lambda row: row["silhouette"])
    chosen = next(row for row in rows if row["chosen"])
    sentence = (
        f"{best['k']} clusters lie best apart (mean silhouette {best['silhouette']:.2f}"
        f", {wording.plural(best['n'], 'head')})"
    )
    if best["k"] != chosen["k"]:
        sentence += f"; the {chosen['k']} shown have {chosen['silhouette']:.2f}"
    return f"{sentence}."
