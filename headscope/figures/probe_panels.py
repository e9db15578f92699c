"""Heat maps of probe scores: one panel per task, and per model where there are several."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import altair as alt

from headscope.figures import theme
from headscope.figures.heatmap import Cells, ticks
from headscope.figures.picture import Chart
from headscope.figures.probe_scores import Score, shown

READ_AS = (
    "The colour is a head's test score above that of shuffled labels, as a share of the best "
    "head's gain on the same task; grey heads are not above chance (q > 5 %, permutation test, "
    "Benjamini–Hochberg over heads)."
)


def best_gains(scores: Sequence[Score]) -> dict[str, float]:
    """The largest gain over chance of any head that is above it, per task."""
    found: dict[str, float] = defaultdict(float)
    for s in scores:
        found[s.task] = max(found[s.task], s.gain if s.sure else 0.0)
    return found


def cell_records(
    scores: Sequence[Score], best: Mapping[str, float], panel: str = ""
) -> list[dict[str, Any]]:
    """One record per head: its place in the model and in its layer's order, and its colour."""
    groups: dict[tuple[str, int], list[Score]] = defaultdict(list)
    for s in scores:
        groups[s.task, s.layer or 0].append(s)
    records = []
    for (task, layer), heads in groups.items():
        # no data last
        order = sorted(heads, key=lambda s: (s.gain != s.gain, -s.gain, s.head or 0))
        for place, s in enumerate(order, 1):
            share = max(0.0, s.gain / best[task]) if s.sure and best[task] > 0 else None
            records.append(
                {
                    "panel": f"{panel}/{task}",
                    "layer": layer + 1,
                    "head": (s.head or 0) + 1,
                    "place": place,
                    "label": f"head {s.head_value().head}",
                    "share": None if share is None else float(f"{share:.4g}"),
                    "shown": shown(s.test, s.metric),
                    "ends": f"{shown(s.low, s.metric)} – {shown(s.high, s.metric)}",
                    "chance": shown(s.chance, s.metric),
                    "n": s.n,
                }
            )
    return records


def score_panel(
    panel: str,
    *,
    across: Literal["head", "place"],
    cells: Cells,
    title: str,
    subtitle: str,
) -> Chart:
    """Layer 1 at the top; heads in their places, or in the order of their scores."""
    base = (
        alt.Chart(alt.NamedData(name="cells"))
        .transform_filter(alt.datum.panel == panel)
        .encode(
            x=_band(across, cells.n_heads, cells.gap, alt.X),
            y=_band("layer", cells.n_layers, cells.gap, alt.Y),
            tooltip=[
                alt.Tooltip("label:N", title="title"),
                alt.Tooltip("shown:N", title="test score"),
                alt.Tooltip("ends:N", title="95 % interval"),
                alt.Tooltip("chance:N", title="shuffled labels"),
                alt.Tooltip("n:Q", title="test rows", format=","),
            ],
        )
    )
    colour = alt.Color(
        "share:Q",
        scale=alt.Scale(scheme=theme.SHARE_SCHEME, domain=[0, 1], clamp=True),
        legend=alt.Legend(
            title="gain over shuffled labels, as a share of the best head's",
            orient="top",
            direction="horizontal",
            gradientLength=220,
            format=".0%",
            values=[0, 0.25, 0.5, 0.75, 1],
            titleLimit=0,
        ),
    )
    return alt.layer(
        base.transform_filter("!isValid(datum.share)").mark_rect(style="no_data"),
        base.transform_filter("isValid(datum.share)").mark_rect().encode(color=colour),
        width=cells.width,
        height=cells.height,
        title={"text": title, "subtitle": subtitle},
    )


def _band(name: str, n: int, gap: float, kind: Any) -> Any:
    return kind(
        f"{name}:O",
        title="place in its layer" if name == "place" else name,
        scale={"domain": list(range(1, n + 1)), "paddingInner": gap, "paddingOuter": 0.03},
        axis={"values": ticks(n), "labelOverlap": False},
    )


def shape(scores: Sequence[Score]) -> tuple[int, int]:
    """Layers and heads."""
    return (
        1 + max((s.layer or 0 for s in scores), default=0),
        1 + max((s.head or 0 for s in scores), default=0),
    )


def best_head(scores: Sequence[Score]) -> str:
    """The strongest head and its score, in words."""
    known = [s for s in scores if s.sure]
    if not known:
        return "no head above chance"
    top = max(known, key=lambda s: s.gain)
    chance = shown(top.chance, top.metric)
    return f"most: {top.head_value().head}, {shown(top.test, top.metric)} (shuffled {chance})"
