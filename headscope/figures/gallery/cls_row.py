"""What the [CLS] token looks at, layer by layer (Kovaleva et al. 2019, §4.5)."""

from __future__ import annotations

from typing import Any

import altair as alt

from headscope.figures import wording
from headscope.figures.head_values import LayerMean, layer_means, read_heads
from headscope.figures.heatmap import share_colour, ticks
from headscope.figures.picture import Chart, Picture, Table
from headscope.figures.registered import RunLike, figure
from headscope.figures.token_kinds import KINDS

NOTE = (
    "The [CLS] row's attention to all tokens of a kind together, averaged over a layer's heads. "
    "[CLS], [SEP], periods and commas, and all other tokens add up to 100 %; nouns, verbs and the "
    "rest are part of all other tokens and overlap. The column “even” is what even attention "
    "would give: a kind with many tokens gets much without being preferred."
)


@figure("cls_row", tables=("cls_row",), order=62)
def cls_row(run: RunLike) -> Picture:
    """Layers × kinds of tokens, with what even attention would give in the last column."""
    table = run.table("cls_row")
    means = layer_means(read_heads(table, what="target", value="mean"))
    even = {
        (row["stack"], row["target"]): row["even"]
        for row in table.select(["stack", "target", "even"]).to_pylist()
    }
    stack = means[0].stack
    here = [m for m in means if m.stack == stack]
    kinds = [kind for kind in KINDS if any(m.what == kind for m in here)]
    n_layers = max(m.layer for m in here) + 1
    records = [_record(str(m.layer + 1), m.what, m.value) for m in here]
    records += [_record("even", kind, even[stack, kind]) for kind in kinds]
    chart = _chart(n_layers, kinds)
    chart.datasets = {"cells": records}
    sentence = found(here, even, n_layers)
    return Picture(
        title="What the [CLS] token looks at",
        sentence=sentence,
        chart=chart,
        alt=f"A heat map of layers by kinds of tokens. {sentence}",
        note=NOTE,
        table=_table(here, even, n_layers),
        prominence=2,
    )


def _record(layer: str, kind: str, value: float) -> dict[str, Any]:
    number = None if value != value else float(f"{value:.5g}")
    return {"layer": layer, "kind": KINDS[kind], "value": number}


def _chart(n_layers: int, kinds: list[str]) -> Chart:
    layers = [*map(str, range(1, n_layers + 1)), "even"]
    shown = [*map(str, ticks(n_layers, 16)), "even"]
    cell = max(16, min(52, 560 // len(layers)))
    base = alt.Chart(alt.NamedData(name="cells")).encode(
        x=alt.X(
            "layer:N",
            title="layer (mean of its heads)",
            scale=alt.Scale(domain=layers, paddingInner=0.04),
            axis=alt.Axis(values=shown),
        ),
        y=alt.Y(
            "kind:N",
            title=None,
            scale=alt.Scale(domain=[KINDS[kind] for kind in kinds], paddingInner=0.06),
        ),
        tooltip=[
            alt.Tooltip("kind:N", title="attention to"),
            alt.Tooltip("layer:N", title="layer"),
            alt.Tooltip("value:Q", title="share", format=".1%"),
        ],
    )
    cells = base.mark_rect().encode(color=share_colour("share of the [CLS] row"))
    parts: list[Any] = [cells]
    if cell >= 34:
        # Dark cells need light numbers; both colours are readable on viridis at that end.
        tint = alt.condition("datum.value > 0.55", alt.value("#1b1b1b"), alt.value("#f4f4f4"))
        text = base.mark_text(fontSize=10).encode(
            text=alt.Text("value:Q", format=".0%"), color=tint
        )
        parts.append(text)
    return alt.layer(*parts).properties(width=cell * len(layers), height=26 * len(kinds))


def found(means: list[LayerMean], even: dict[Any, float], n_layers: int) -> str:
    """What the last layer's [CLS] row gives most to, and the kind furthest above an even share."""
    last = {m.what: m for m in means if m.layer == n_layers - 1 and m.value == m.value}
    shares = [last[k] for k in ("cls", "sep", "punct", "other") if k in last]
    if not shares:
        return "No sequence has a [CLS] token."
    top = max(shares, key=lambda m: m.value)
    ratios = {k: m.value / even[m.stack, k] for k, m in last.items() if k != "other"}
    liked = max(ratios, key=lambda k: ratios[k])
    return (
        f"In layer {n_layers}, the last, the [CLS] row gives {wording.percent(top.value)} to "
        f"{KINDS[top.what]}, on average over {wording.plural(top.n_heads, 'head')}; it is furthest "
        f"above even attention on {KINDS[liked]}, {ratios[liked]:.1f} times its even share."
    )


def _table(means: list[LayerMean], even: dict[Any, float], n_layers: int) -> Table:
    rows = []
    for m in means:
        if m.layer == n_layers - 1:
            share = even[m.stack, m.what]
            rows.append(
                (
                    KINDS[m.what],
                    wording.percent(m.value),
                    wording.percent(share),
                    f"{m.value / share:.1f} ×" if share else wording.NO_DATA,
                )
            )
    return Table((f"layer {n_layers}: attention to", "share", "even", "ratio"), tuple(rows))
