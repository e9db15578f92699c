"""Does the gradient foretell an ablation? Estimate against measured change, head by head."""

from __future__ import annotations

import math
from typing import Any

import altair as alt
import numpy as np

from headscope.figures import wording
from headscope.figures.picture import Chart, Picture, Table
from headscope.figures.registered import RunLike, figure
from headscope.figures.theme import OKABE_ITO

NOTE = (
    "Across: what the gradient foretells for the loss, to first order. Up: what happened, with its "
    "95 % interval. On the dashed line both agree. A gradient is a slope at the model as it is, "
    "and switching a head off is a long way: agreement is a finding, not a matter of course."
)


@figure("ablation_estimate", tables=("ablation_estimate",), order=92)
def ablation_estimate(run: RunLike) -> Picture:
    """A scatter with one point per head, and the line of agreement."""
    rows = [
        row
        for row in run.table("ablation_estimate").to_pylist()
        if row["estimate"] is not None and math.isfinite(row["estimate"])
    ]
    points: list[dict[str, Any]] = [
        {
            "head": f"{row['layer'] + 1}-{row['head'] + 1}",
            "layer": row["layer"] + 1,
            "estimate": float(f"{row['estimate']:.5g}"),
            "measured": float(f"{row['measured']:.5g}"),
            "low": row["ci_low"],
            "high": row["ci_high"],
        }
        for row in rows
    ]
    sentence = found(rows)
    return Picture(
        title="What the gradient foretells, and what happens",
        sentence=sentence,
        chart=_chart(points),
        alt=f"Scatter plot of estimated against measured change of the loss. {sentence}",
        note=NOTE,
        table=_table(rows),
        prominence=7,
    )


def _chart(points: list[dict[str, Any]]) -> Chart:
    ends = [p[name] for p in points for name in ("estimate", "measured")] or [0.0, 1.0]
    low, high = min([*ends, 0.0]), max([*ends, 0.0])
    line = [{"x": low, "y": low}, {"x": high, "y": high}]
    base = alt.Chart(alt.InlineData(values=points)).encode(
        x=alt.X("estimate:Q", title="estimated change of the loss", scale=alt.Scale(padding=12)),
        color=alt.Color(
            "layer:O",
            title="layer",
            scale=alt.Scale(scheme="viridis"),
            legend=alt.Legend(orient="right"),
        ),
    )
    # only the heads that stand out get their name; the others would hide one another
    far = sorted(points, key=lambda p: -abs(p["measured"]))[:6]
    names = alt.Chart(alt.InlineData(values=far)).encode(x="estimate:Q", y="measured:Q")
    return alt.layer(
        alt.Chart(alt.InlineData(values=line))
        .mark_line(style="reference", color=OKABE_ITO["sky"])
        .encode(x="x:Q", y="y:Q"),
        base.mark_rule(style="head_interval").encode(
            y=alt.Y("low:Q", title="measured change of the loss"), y2="high:Q"
        ),
        base.mark_circle(size=60, opacity=0.9).encode(
            y=alt.Y("measured:Q", title="measured change of the loss"),
            tooltip=[
                alt.Tooltip("head:N"),
                alt.Tooltip("estimate:Q", format="+.4f"),
                alt.Tooltip("measured:Q", format="+.4f"),
            ],
        ),
        names.mark_text(style="annotation", dx=6, align="left").encode(text="head:N"),
        width=420,
        height=320,
        title={
            "text": "Estimated and measured change of the loss",
            "subtitle": "one point per head; dashed: both agree",
        },
    )


def found(rows: list[dict[str, Any]]) -> str:
    """How well the order of heads is foretold, and how far off the sizes are."""
    estimate = np.array([row["estimate"] for row in rows])
    measured = np.array([row["measured"] for row in rows])
    if len(rows) < 3 or np.ptp(estimate) == 0 or np.ptp(measured) == 0:
        return "Too few heads differ to say whether the gradient foretells ablations."
    rho = _spearman(estimate, measured)
    r = float(np.corrcoef(estimate, measured)[0, 1])
    slope = float(estimate @ measured / (estimate @ estimate))
    return (
        f"Over {wording.plural(len(rows), 'head')} the gradient's estimate and the measured change "
        f"of the loss correlate with Spearman's ρ = {rho:.2f} (Pearson's r = {r:.2f}); the "
        f"measured change is {slope:.2f} times the estimate."
    )


def _spearman(a: Any, b: Any) -> float:
    def ranks(x: Any) -> Any:
        _, group, counts = np.unique(x, return_inverse=True, return_counts=True)
        return (np.cumsum(counts) - (counts - 1) / 2)[group]

    return float(np.corrcoef(ranks(a), ranks(b))[0, 1])


def _table(rows: list[dict[str, Any]]) -> Table:
    far = sorted(rows, key=lambda row: -abs(row["measured"]))[:12]
    return Table(
        ("head", "estimated", "measured", "95 % interval"),
        tuple(
            (
                f"{row['layer'] + 1}-{row['head'] + 1}",
                f"{row['estimate']:+.4f}",
                f"{row['measured']:+.4f}",
                f"{row['ci_low']:+.4f} to {row['ci_high']:+.4f}",
            )
            for row in far
        ),
    )
