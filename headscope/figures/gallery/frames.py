"""Heads that link frame-evoking words and core elements (Kovaleva et al. 2019, §4.2)."""

from __future__ import annotations

import math
from typing import Any, cast

import altair as alt

from headscope.figures import wording
from headscope.figures.head_values import HeadValue, head_records, shape_of, stacks_of
from headscope.figures.heatmap import Cells, heatmap
from headscope.figures.picture import Chart, Picture, Table
from headscope.figures.registered import RunLike, figure
from headscope.figures.small_multiples import part_colour, strongest
from headscope.figures.theme import OKABE_ITO
from headscope.types import HeadId, Stack

NOTE = (
    "For every frame, the greatest weight, either way, between the word that evokes it and its "
    "core elements; the mean over frames. The baseline moves target and element together to random "
    "places of their sentence, so that distance and number of tokens stay the same. Heads above it "
    "(q ≤ 5 %, Benjamini–Hochberg over all heads) link these words more than their distance "
    "explains; syntax may be the reason as well as meaning. In the panel at the right they lie "
    "above the line, in colour."
)


@figure("frames", tables=("frames",), order=63)
def frames(run: RunLike) -> Picture:
    """The mean of every head, what the baseline gives, and one against the other."""
    rows = run.table("frames").to_pylist()
    values = [v for row in rows for v in _values(row)]
    top = max((v.value for v in values if v.known), default=0.0)
    colour = part_colour("strongest weight of a frame's links", top)
    stack = stacks_of(values)[0]
    cells = Cells.of(*shape_of(values, stack), width=250)
    titles = {"observed": "Frame relations", "baseline": "Random pairs at the same distance"}
    panels: list[Chart] = []
    for what, title in titles.items():
        best = strongest([v for v in values if v.what == what and v.head.stack == stack])
        panels.append(
            heatmap(
                "heads",
                stack=stack,
                what=what,
                cells=cells,
                colour=colour,
                title=title,
                subtitle=f"most: {best.head}, {wording.percent(best.value)}" if best else "no data",
                value_title="mean of the strongest weights",
                value_format=".1%",
                has_gaps=not all(v.known for v in values),
            )
        )
    maps = alt.hconcat(*panels, spacing=26).resolve_scale(color="shared")
    chart = alt.hconcat(maps, _against(top), spacing=40).resolve_scale(color="independent")
    chart.datasets = {
        "heads": head_records(values),
        "against": [_point(row) for row in rows if math.isfinite(row["mean_max"])],
    }
    sentence = found(rows)
    return Picture(
        title="Heads that link the words of a semantic frame",
        sentence=sentence,
        chart=chart,
        alt=f"Two heat maps of layer by head and a scatter plot. {sentence}",
        note=NOTE,
        table=_table(rows),
        prominence=3,
    )


def _head(row: dict[str, Any]) -> HeadId:
    return HeadId(row["layer"], row["head"], cast("Stack", row["stack"]))


def _values(row: dict[str, Any]) -> list[HeadValue]:
    nan = math.nan
    ends = row["ci_low"], row["ci_high"]
    return [
        HeadValue(_head(row), "observed", row["mean_max"], *ends, row["n"]),
        HeadValue(_head(row), "baseline", row["baseline"], nan, nan, row["n"]),
    ]


def _point(row: dict[str, Any]) -> dict[str, Any]:
    numbers = {name: float(f"{row[name]:.5g}") for name in ("mean_max", "baseline")}
    q = row["q_value"]
    return {
        "head": str(_head(row)),
        **numbers,
        "q": None if math.isnan(q) else float(f"{q:.3g}"),
        "kind": "above the baseline" if row["above"] else "not above",
    }


def _against(top: float) -> Chart:
    scale = alt.Scale(domain=[0, max(top, 1e-6) * 1.05], nice=False)
    axis = alt.Axis(format=".0%", tickCount=5)
    kinds = {"above the baseline": OKABE_ITO["vermillion"], "not above": "#8a929c"}
    points = (
        alt.Chart(alt.NamedData(name="against"))
        .mark_circle(size=44, opacity=0.8)
        .encode(
            x=alt.X("baseline:Q", title="random pairs", scale=scale, axis=axis),
            y=alt.Y("mean_max:Q", title="frame relations", scale=scale, axis=axis),
            color=alt.Color(
                "kind:N",
                scale=alt.Scale(domain=list(kinds), range=list(kinds.values())),
                legend=alt.Legend(title=None, orient="top"),
            ),
            tooltip=[
                alt.Tooltip("head:N", title="head"),
                alt.Tooltip("mean_max:Q", title="frame relations", format=".1%"),
                alt.Tooltip("baseline:Q", title="random pairs", format=".1%"),
                alt.Tooltip("q:Q", title="q-value", format=".3f"),
            ],
        )
    )
    ends: list[dict[str, float]] = [
        {"baseline": 0, "mean_max": 0},
        {"baseline": top * 1.05, "mean_max": top * 1.05},
    ]
    line = (
        alt.Chart(alt.InlineData(values=ends))
        .mark_line(style="reference")
        .encode(x=alt.X("baseline:Q", scale=scale), y=alt.Y("mean_max:Q", scale=scale))
    )
    parts: list[Any] = [line, points]
    return alt.layer(*parts).properties(
        width=210, height=210, title=alt.Title("Against chance", subtitle="one point per head")
    )


def found(rows: list[dict[str, Any]]) -> str:
    """The strongest head, and how many heads are above what distance explains."""
    known = [row for row in rows if math.isfinite(row["mean_max"])]
    if not known:
        return "No frame passes the filters."
    best = max(known, key=lambda row: row["mean_max"])
    interval = wording.share_interval(best["ci_low"], best["ci_high"])
    frames = wording.plural(best["n"], "frame")
    above = [row for row in known if row["above"]]
    sentence = (
        f"Head {_head(best)} links the words of a frame most strongly, "
        f"{wording.percent(best['mean_max'])} on average (95 % interval {interval}, {frames})"
    )
    if not above:
        return f"{sentence}; no head exceeds random pairs at the same distance."
    margin = max(above, key=lambda row: row["mean_max"] - row["baseline"])
    return (
        f"{sentence}; {len(above)} of {wording.plural(len(known), 'head')} exceed random pairs at "
        f"the same distance, most of all {_head(margin)} ({wording.percent(margin['mean_max'])} "
        f"beside {wording.percent(margin['baseline'])})."
    )


def _table(rows: list[dict[str, Any]]) -> Table:
    known = [row for row in rows if math.isfinite(row["mean_max"])]
    ranked = sorted(known, key=lambda row: row["baseline"] - row["mean_max"])[:10]
    cells = tuple(
        (
            str(_head(row)),
            wording.percent(row["mean_max"]),
            wording.share_interval(row["ci_low"], row["ci_high"]),
            wording.percent(row["baseline"]),
            f"{row['q_value']:.3f}" if math.isfinite(row["q_value"]) else wording.NO_DATA,
        )
        for row in ranked
    )
    return Table(("head", "frame relations", "95 % interval", "random pairs", "q-value"), cells)
