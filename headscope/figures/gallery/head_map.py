"""The map of heads: near heads attend alike (Clark et al. 2019, §6, Figure 6)."""

from __future__ import annotations

import math
from typing import Any, Final

import altair as alt

from headscope.figures import theme, wording
from headscope.figures.gallery.parser import ENOUGH, head_of, rows_of
from headscope.figures.heatmap import ticks
from headscope.figures.layout import arranged
from headscope.figures.picture import Chart, Picture, Table
from headscope.figures.registered import RunLike, figure
from headscope.figures.surface_targets import POINTED, target
from headscope.figures.theme import OKABE_ITO
from headscope.types import STACKS, HeadId, Stack

#: A head that gives one target more than this is marked as such.
HALF: Final = 0.5
#: The best heads of so many relations are named on the map.
N_NAMED: Final = 6
#: A margin over the fixed distance that earns a name.
LEAST_MARGIN: Final = 0.1
BROAD, MIXED = "broad", "none of these"
SHAPES: Final = {
    "prev": "triangle-left", "next": "triangle-right", "self": "diamond", "cls": "triangle-up",
    "first": "triangle-up", "sep": "triangle-down", "punct": "square", BROAD: "cross",
    MIXED: "circle",
}  # fmt: skip
NOTE = (
    "A point is a head, coloured by its layer; the nearer two heads, the more alike their rows of "
    "attention (mean Jensen–Shannon divergence, metric multidimensional scaling; the axes have no "
    "meaning of their own). The shape says where a head puts more than half of its attention, or "
    "that it spreads it broadly; names mark the best heads for a relation or for coreference. A "
    "plane cannot keep all distances: their correlation with the true ones is given below the "
    "title. On the right, filled points are the mean divergence between heads of one layer, hollow "
    "ones to the heads of all other layers."
)


@figure("head_map", tables=("head_map", "divergence"), order=38)
def head_map(run: RunLike) -> Picture:
    """The map, marked by what other tables say, and distances within and across layers."""
    rows = rows_of(run, "head_map")
    pairs = rows_of(run, "divergence")
    layers = rows_of(run, "layer_divergence")
    behaviours, names = _behaviours(run), _names(run)
    points = [
        {
            "stack": row["stack"],
            "label": str(head_of(row)),
            "layer": row["layer"] + 1,
            "x": round(row["x"], 4),
            "y": round(row["y"], 4),
            "behaviour": behaviours.get(head_of(row), MIXED),
            "name": names.get(head_of(row), ""),
        }
        for row in rows
        if not math.isnan(row["x"])
    ]
    _lower_hidden_names(points)
    kinds = [b for b in (*POINTED, BROAD, MIXED) if any(p["behaviour"] == _word(b) for p in points)]
    panels: dict[Stack, list[Chart]] = {}
    for stack in STACKS:
        here = [row for row in rows if row["stack"] == stack]
        if not here:
            continue
        fit = _correlation(here, [p for p in pairs if p["stack"] == stack])
        panels[stack] = [_map(stack, 1 + max(r["layer"] for r in here), kinds, fit)]
        if any(r["stack"] == stack for r in layers):
            panels[stack].append(_layers(stack))
    data = {
        "points": points,
        "layers": [
            {
                "stack": r["stack"],
                "layer": r["layer"] + 1,
                "within": _number(r["within_nats"]),
                "across": _number(r["across_nats"]),
            }
            for r in layers
        ],
    }
    return Picture(
        title="The map of heads: who attends like whom",
        sentence=found(pairs, layers),
        chart=arranged(panels, columns=2, colour="independent", data=data),
        alt=f"Scatter plot of heads by the likeness of their attention. {found(pairs, layers)}",
        note=NOTE,
        table=_table(pairs, layers),
        prominence=6,
    )


def _word(behaviour: str) -> str:
    return behaviour if behaviour in (BROAD, MIXED) else f"to {target(behaviour).phrase}"


def _behaviours(run: RunLike) -> dict[HeadId, str]:
    """Where each head puts more than half, by `surface`; else whether it is broad, by `entropy`."""
    found: dict[HeadId, str] = {}
    entropy = [r for r in rows_of(run, "entropy") if r["rows"] == "all"]
    known = sorted(r["mean_nats"] for r in entropy if not math.isnan(r["mean_nats"]))
    if known:
        broad = known[math.ceil(0.9 * len(known)) - 1]
        found |= {head_of(r): BROAD for r in entropy if r["mean_nats"] >= broad}
    surface = [r for r in rows_of(run, "surface") if r["target"] in POINTED and r["mean"] > HALF]
    # of `first` and `cls` one is enough: they are the same token where both exist
    for r in sorted(surface, key=lambda r: (r["mean"], r["target"] != "first")):
        found[head_of(r)] = _word(r["target"])
    return found


def _names(run: RunLike) -> dict[HeadId, str]:
    """The best heads of the relations with the widest margins, and of coreference."""
    best = [
        r
        for r in rows_of(run, "parser_best")
        if r["n"] >= ENOUGH and r["relation"] not in ("all", "punct") and r["margin"] > LEAST_MARGIN
    ]
    named: dict[HeadId, list[str]] = {}
    for r in sorted(best, key=lambda r: -r["margin"])[:N_NAMED]:
        named.setdefault(head_of(r), []).append(r["relation"])
    mentions = [r for r in rows_of(run, "coreference") if r["mention"] == "all"]
    if mentions:
        top = max(mentions, key=lambda r: r["accuracy"])
        named.setdefault(head_of(top), []).append("coreference")
    return {head: f"{head} {', '.join(what)}" for head, what in named.items()}


def _lower_hidden_names(points: list[dict[str, Any]]) -> None:
    """Put a name below and to the left of its point where it would run into another named one."""
    named = [p for p in points if p["name"]]
    width = max((p["x"] for p in points), default=0.0) - min((p["x"] for p in points), default=0.0)
    for p in points:
        p["below"] = bool(p["name"]) and any(
            0 < other["x"] - p["x"] < 0.25 * width and abs(other["y"] - p["y"]) < 0.06 * width
            for other in named
            if other["stack"] == p["stack"]
        )


def _map(stack: Stack, n_layers: int, kinds: list[str], fit: float) -> Chart:
    axis = alt.Axis(labels=False, ticks=False, title=None, domain=False, grid=False)
    scale = alt.Scale(zero=False, nice=True, padding=12)
    base = (
        alt.Chart(alt.NamedData(name="points"))
        .transform_filter(f"datum.stack == '{stack}'")
        .encode(
            x=alt.X("x:Q", axis=axis, scale=scale),
            y=alt.Y("y:Q", axis=axis, scale=scale),
        )
    )
    shapes = alt.Scale(domain=[_word(k) for k in kinds], range=[SHAPES[k] for k in kinds])
    return alt.layer(
        base.mark_point(filled=True, size=90, opacity=0.9).encode(
            color=alt.Color(
                "layer:Q",
                scale=alt.Scale(scheme=theme.SHARE_SCHEME, domain=[1, max(2, n_layers)]),
                legend=alt.Legend(
                    title="layer", format="d", values=ticks(n_layers), gradientLength=140
                ),
            ),
            shape=alt.Shape(
                "behaviour:N",
                scale=shapes,
                legend=alt.Legend(
                    title="more than half of its attention",
                    labelLimit=220,
                    titleLimit=220,
                    orient="bottom",
                    columns=4,
                    symbolSize=80,
                ),
            ),
            tooltip=[
                alt.Tooltip("label:N", title="head"),
                alt.Tooltip("behaviour:N", title="attention"),
                alt.Tooltip("name:N", title="best at"),
            ],
        ),
        base.transform_filter("datum.name != '' && !datum.below")
        .mark_text(style="annotation", align="left", dx=8, dy=-6, fontSize=11)
        .encode(text="name:N"),
        base.transform_filter("datum.below")
        .mark_text(style="annotation", align="right", dx=-8, dy=10, fontSize=11)
        .encode(text="name:N"),
    ).properties(
        width=470,
        height=400,
        title=alt.Title(
            "Near heads attend alike",
            subtitle=f"distances on the map and true distances correlate at {fit:.2f}",
        ),
    )


def _layers(stack: Stack) -> Chart:
    base = alt.Chart(alt.NamedData(name="layers")).transform_filter(f"datum.stack == '{stack}'")
    base = base.encode(y=alt.Y("layer:O", title="layer"))
    x_title = "mean divergence (nats)"
    few = alt.Axis(tickCount=4, format=".1f")
    colour = OKABE_ITO["blue"]
    return alt.layer(
        base.mark_rule(style="reference").encode(x=alt.X("within:Q"), x2="across:Q"),
        base.mark_point(filled=True, size=70, color=colour, opacity=1).encode(
            x=alt.X("within:Q", title=x_title, scale=alt.Scale(zero=True), axis=few),
            tooltip=[alt.Tooltip("within:Q", title="within the layer", format=".3f")],
        ),
        base.mark_point(size=70, color=colour, opacity=1).encode(
            x=alt.X("across:Q"),
            tooltip=[alt.Tooltip("across:Q", title="to other layers", format=".3f")],
        ),
    ).properties(
        width=190,
        height=alt.Step(22),
        title=alt.Title("Within and across layers", subtitle="filled: within, hollow: to others"),
    )


def _number(x: float) -> float | None:
    return None if math.isnan(x) else round(x, 5)


def _ends(pair: dict[str, Any]) -> tuple[HeadId, HeadId]:
    stack = pair["stack"]
    return (
        HeadId(pair["layer_a"], pair["head_a"], stack),
        HeadId(pair["layer_b"], pair["head_b"], stack),
    )


def _correlation(points: list[dict[str, Any]], pairs: list[dict[str, Any]]) -> float:
    """Pearson's correlation between distances on the map and divergences."""
    place = {head_of(p): (p["x"], p["y"]) for p in points}
    shown = [math.dist(place[a], place[b]) for a, b in map(_ends, pairs)]
    true = [p["js_nats"] for p in pairs]
    if len(pairs) < 2:
        return float("nan")
    mean_s, mean_t = sum(shown) / len(shown), sum(true) / len(true)
    cross = sum((s - mean_s) * (t - mean_t) for s, t in zip(shown, true, strict=True))
    spread = math.sqrt(sum((s - mean_s) ** 2 for s in shown) * sum((t - mean_t) ** 2 for t in true))
    return cross / spread if spread else float("nan")


def found(pairs: list[dict[str, Any]], layers: list[dict[str, Any]]) -> str:
    """The two most alike heads, and whether layers hold together."""
    known = [p for p in pairs if not math.isnan(p["js_nats"])]
    if not known:
        return "No two heads were compared."
    near = min(known, key=lambda p: p["js_nats"])
    a, b = _ends(near)
    error = near.get("se_nats")
    plus = f" ± {error:.3f}" if error is not None and not math.isnan(error) else ""
    sentence = f"The most alike heads are {a} and {b} ({near['js_nats']:.3f}{plus} nats apart)"
    told = [r for r in layers if not math.isnan(r["p_value"])]
    if not told:
        return sentence + "."
    closer = [r for r in told if r["p_value"] < 0.05 / len(told)]
    which = wording.listed([str(r["layer"] + 1) for r in closer]) if closer else ""
    layer = "layer" if len(closer) == 1 else "layers"
    rest = (
        f"heads of one layer are closer to each other than to heads picked anywhere in "
        f"{layer} {which} of {len(told)}"
        if closer
        else f"in none of the {len(told)} layers are heads closer than heads picked anywhere"
    )
    return f"{sentence}; {rest} (permutation test, Bonferroni)."


def _table(pairs: list[dict[str, Any]], layers: list[dict[str, Any]]) -> Table:
    """The layers, then the nearest pairs."""
    rows = [
        (
            f"layer {r['layer'] + 1}" + ("" if r["stack"] == "self" else f" ({r['stack']})"),
            f"{r['within_nats']:.3f} within, {r['across_nats']:.3f} to other layers",
            "–" if math.isnan(r["p_value"]) else f"p = {r['p_value']:.4f}",
        )
        for r in layers
    ]
    for p in sorted(pairs, key=lambda p: p["js_nats"])[:10]:
        a, b = _ends(p)
        rows.append((f"{a} and {b}", f"{p['js_nats']:.4f} nats", f"± {p['se_nats']:.4f}"))
    return Table(("heads", "mean divergence", "how sure"), tuple(rows))
