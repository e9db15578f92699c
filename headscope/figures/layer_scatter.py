"""A panel with one point per head over the layers, and a line through the layer means."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import altair as alt

from headscope.figures.heatmap import labelled, ticks, tooltips
from headscope.figures.picture import Chart
from headscope.types import Stack


@dataclass(frozen=True, slots=True)
class Series:
    """One quantity of a panel: its name in the table, its name for people, its colour."""

    what: str
    label: str
    colour: str


def layer_scatter(
    heads: str,
    means: str,
    *,
    stack: Stack,
    n_layers: int,
    series: Sequence[Series],
    title: str,
    subtitle: str,
    y_title: str,
    y_format: str,
    y_domain: tuple[float, float],
    value_format: str,
    legend: Literal["top", "bottom"] = "top",
    height: int = 230,
) -> Chart:
    """Points are heads with their intervals, the line is the mean over a layer's heads.

    `heads` and `means` name the records (`head_records`, `layer_records`) that the finished chart
    will carry. Several series of a layer stand side by side, so that they do not hide one another.
    """
    width = max(264, min(420, round(11.5 * n_layers)))
    labels = {s.what: s.label for s in series}
    x = alt.X(
        "x:Q",
        title="layer",
        scale={"domain": [0.5, n_layers + 0.5], "nice": False, "zero": False},
        axis={"values": ticks(n_layers), "format": "d", "grid": False},
    )
    y = alt.Y(
        "value:Q",
        title=y_title,
        scale={"domain": list(y_domain), "nice": False, "clamp": True},
        axis={"format": y_format, "tickCount": 5, "domain": False, "ticks": False},
    )
    colour = alt.Color(
        "series:N",
        scale={"domain": [s.label for s in series], "range": [s.colour for s in series]},
        legend={
            "title": None,
            "orient": legend,
            "symbolType": "circle",
            "symbolOpacity": 1,
            "offset": 5,
        },
    )
    points = _placed(heads, stack, labels)
    points = labelled(points, value_format=value_format, stack=stack).encode(x=x, color=colour)
    lines = _placed(means, stack, labels).transform_filter("isValid(datum.value)")
    lines = lines.encode(x=x, color=colour)
    hover = [alt.Tooltip("series:N", title=y_title), *tooltips("mean")]
    crowd = max(9, min(42, round(2.2 * width / n_layers / len(series))))
    return alt.layer(
        lines.mark_area(style="layer_interval").encode(y=alt.Y("low:Q"), y2="high:Q"),
        points.mark_rule(style="head_interval").encode(y=alt.Y("low:Q"), y2="high:Q"),
        points.mark_circle(style="heads", size=crowd).encode(y=y, tooltip=hover),
        lines.mark_line(style="layer_mean").encode(
            y=y,
            tooltip=[
                alt.Tooltip("series:N", title=y_title),
                alt.Tooltip("layer:Q", title="layer"),
                alt.Tooltip("value:Q", title="mean of heads", format=value_format),
                alt.Tooltip("n:Q", title="heads"),
            ],
        ),
        width=width,
        height=height,
        title={"text": title, "subtitle": subtitle},
    )


def _placed(data: str, stack: Stack, labels: Mapping[str, str]) -> alt.Chart:
    """Keep the panel's rows; add `series` (its label) and `x` (the layer, set off by series)."""
    names = list(labels)
    step = 0.62 / len(names) if len(names) > 1 else 0.0
    start = -step * (len(names) - 1) / 2
    index = f"indexof({json.dumps(names)}, datum.what)"
    return (
        alt.Chart(alt.NamedData(name=data))
        .transform_filter(f"datum.stack == {json.dumps(stack)} && {index} >= 0")
        .transform_calculate(
            series=f"{json.dumps(list(labels.values()))}[{index}]",
            x=f"datum.layer + {start:.4f} + {step:.4f} * {index}",
        )
    )
