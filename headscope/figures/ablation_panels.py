"""Panels about ablations: groups as points with intervals, and the pruning curve."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import altair as alt

from headscope.figures.ablation_rows import Effect, metric_name
from headscope.figures.picture import Chart
from headscope.figures.theme import OKABE_ITO

SURE, UNSURE = "more than chance (q ≤ 0.05)", "may be chance"


def _finite(x: float) -> float | None:
    return float(f"{x:.5g}") if math.isfinite(x) else None


def group_panel(effects: Sequence[Effect], metric: str, edit: str) -> Chart:
    """Every group's change with its interval, in the order of the table."""
    rows: list[dict[str, Any]] = [
        {
            "group": f"{e.label} ({e.n_heads})" if e.head is None else e.label,
            "delta": _finite(e.delta),
            "low": _finite(e.low),
            "high": _finite(e.high),
            "sure": SURE if e.sure else UNSURE,
            "value": _finite(e.value),
            "heads": e.n_heads,
        }
        for e in effects
    ]
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        y=alt.Y(
            "group:N",
            title=None,
            sort=None,
            axis=alt.Axis(labelLimit=220),
        ),
        color=alt.Color(
            "sure:N",
            scale=alt.Scale(
                domain=[SURE, UNSURE], range=[OKABE_ITO["vermillion"], OKABE_ITO["blue"]]
            ),
            legend=alt.Legend(title=None, orient="bottom"),
        ),
    )
    tips = [
        alt.Tooltip("group:N", title="switched off"),
        alt.Tooltip("delta:Q", title="change", format="+.4f"),
        alt.Tooltip("value:Q", title=metric_name(metric), format=".4f"),
        alt.Tooltip("heads:Q", title="heads"),
    ]
    zero = alt.Chart(alt.InlineData(values=[{"x": 0}])).mark_rule(style="reference")
    return alt.layer(
        zero.encode(x="x:Q"),
        base.mark_rule(strokeWidth=2).encode(
            x=alt.X("low:Q", title=f"change of {metric_name(metric)}"), x2="high:Q"
        ),
        base.mark_point(filled=True, size=60, opacity=1).encode(x="delta:Q", tooltip=tips),
        width=300,
        height=max(60, 20 * len(rows)),
        title={
            "text": f"Change of {metric_name(metric)}",
            "subtitle": f"{edit}; in brackets the number of heads",
        },
    )


def curve_panel(effects: Sequence[Effect], metric: str, edit: str) -> Chart:
    """The metric with more and more heads switched off."""
    ordered = sorted(effects, key=lambda e: e.step)
    start = ordered[0].baseline
    rows: list[dict[str, Any]] = [
        {"step": 0, "value": _finite(start), "low": _finite(start), "high": _finite(start)}
    ]
    rows += [
        {
            "step": e.step,
            "value": _finite(e.value),
            "low": _finite(start + e.low),
            "high": _finite(start + e.high),
        }
        for e in ordered
    ]
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=alt.X("step:Q", title="heads switched off", axis=alt.Axis(tickMinStep=1))
    )
    y = alt.Y("value:Q", title=metric_name(metric), scale=alt.Scale(zero=False))
    tips = [
        alt.Tooltip("step:Q", title="heads"),
        alt.Tooltip("value:Q", title=metric_name(metric), format=".4f"),
    ]
    blue = OKABE_ITO["blue"]
    level = alt.Chart(alt.InlineData(values=[{"y": start}])).mark_rule(style="reference")
    return alt.layer(
        base.mark_area(style="layer_interval", color=blue).encode(
            y=alt.Y("low:Q", title=metric_name(metric)), y2="high:Q"
        ),
        level.encode(y="y:Q"),
        base.mark_line(style="layer_mean", color=blue, point=alt.OverlayMarkDef(color=blue)).encode(
            y=y, tooltip=tips
        ),
        width=360,
        height=240,
        title={"text": f"{metric_name(metric)} as heads go", "subtitle": edit},
    )
