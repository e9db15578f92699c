"""One sentence as the best parsing heads see it, over its arcs (Clark et al. 2019, Figure 5)."""

from __future__ import annotations

from typing import Any, Final, Literal

import altair as alt

from headscope.figures import wording
from headscope.figures.gallery.parser import ARROWS, head_of, rows_of
from headscope.figures.picture import Chart, Picture, Table
from headscope.figures.registered import RunLike, figure
from headscope.figures.theme import OKABE_ITO

#: Weights below this are not drawn: they would be thinner than a hair.
LEAST: Final = 0.02

NOTE = (
    "The sentence runs down both sides of a panel. A line goes from a word on the left to a word "
    "on the right that it attends to, the darker the more. Orange lines lie on the gold arcs of "
    "the relation in the title, blue ones do not; orange dots mark the ends of gold arcs. "
    "Attention to [CLS], [SEP] and the like is left out, so the lines of a word need not add up to "
    "one. The sentence is the one with the most different relations among short ones: it was not "
    "chosen for how well the heads do on it."
)


@figure("parser_sentence", tables=("parser_arcs", "parser_best"), order=33)
def parser_sentence(run: RunLike) -> Picture:
    """A panel per head: words left and right, attention as lines between them."""
    rows = rows_of(run, "parser_arcs")
    panels: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        panels.setdefault((row["relation"], str(head_of(row))), []).append(row)
    accuracy = {(r["relation"], str(head_of(r))): r for r in rows_of(run, "parser_best")}
    charts = [
        _panel(f"panel{i}", key, group, accuracy.get(key))
        for i, (key, group) in enumerate(panels.items())
    ]
    chart: Chart = alt.concat(*charts, columns=2, spacing=40)
    chart.datasets = {}
    for i, group in enumerate(panels.values()):
        chart.datasets[f"panel{i}-lines"] = _lines(group)
        chart.datasets[f"panel{i}-words"] = _words(group)
    return Picture(
        title="One sentence as the best parsing heads see it",
        sentence=found(panels),
        chart=chart,
        alt=f"Lines between the words of a sentence, one panel per head. {found(panels)}",
        note=NOTE,
        table=_table(panels),
        prominence=3,
    )


def _gold_share(group: list[dict[str, Any]]) -> float:
    """The mean weight on gold arcs."""
    gold = [row["weight"] for row in group if row["gold"]]
    return sum(gold) / len(gold) if gold else float("nan")


def found(panels: dict[tuple[str, str], list[dict[str, Any]]]) -> str:
    """The sentence, and the head with the most weight on its arcs."""
    first = next(iter(panels.values()))
    words = {row["from_position"]: row["from_word"] for row in first}
    text = " ".join(words[i] for i in sorted(words))
    (relation, head), group = max(panels.items(), key=lambda item: _gold_share(item[1]))
    arcs = [row for row in group if row["gold"]]
    pairs = wording.listed([f"{r['from_word']} → {r['to_word']}" for r in arcs])
    return (
        f"In “{text}” head {head} gives {wording.percent(_gold_share(group))} of its attention to "
        f"the {relation} {'arc' if len(arcs) == 1 else 'arcs'} {pairs}."
    )


def _lines(group: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            "y": row["from_position"],
            "y2": row["to_position"],
            "x": 0,
            "x2": 1,
            "weight": round(row["weight"], 3),
            "kind": "gold arc" if row["gold"] else "other",
            "from": row["from_word"],
            "to": row["to_word"],
        }
        for row in sorted(group, key=lambda r: (r["gold"], r["weight"]))
        if row["weight"] >= LEAST
    ]


def _words(group: list[dict[str, Any]]) -> list[dict[str, Any]]:
    words = {row["from_position"]: row["from_word"] for row in group}
    starts = {row["from_position"] for row in group if row["gold"]}
    ends = {row["to_position"] for row in group if row["gold"]}
    return [
        {"y": i, "word": word, "side": side, "end": i in marked}
        for side, marked in (("from", starts), ("to", ends))
        for i, word in sorted(words.items())
    ]


def _panel(
    name: str, key: tuple[str, str], group: list[dict[str, Any]], best: dict[str, Any] | None
) -> Chart:
    relation, head = key
    n_words = 1 + max(row["from_position"] for row in group)
    y_scale = alt.Scale(domain=[n_words - 0.5, -0.5], nice=False, zero=False)
    x_scale = alt.Scale(domain=[-0.75, 1.75], nice=False, zero=False)
    x = alt.X("x:Q", scale=x_scale, axis=None)
    y = alt.Y("y:Q", scale=y_scale, axis=None)
    lines = (
        alt.Chart(alt.NamedData(name=f"{name}-lines"))
        .mark_rule(strokeWidth=3, strokeCap="round")
        .encode(
            x=x,
            x2="x2",
            y=y,
            y2="y2",
            opacity=alt.Opacity(
                "weight:Q", scale=alt.Scale(domain=[0, 0.6], range=[0.04, 1], clamp=True),
                legend=None,
            ),
            color=alt.Color(
                "kind:N",
                scale=alt.Scale(
                    domain=["gold arc", "other"], range=[OKABE_ITO["vermillion"], OKABE_ITO["sky"]]
                ),
                legend=None,
            ),
            tooltip=[
                alt.Tooltip("from:N", title="from"),
                alt.Tooltip("to:N", title="to"),
                alt.Tooltip("weight:Q", title="attention", format=".1%"),
                alt.Tooltip("kind:N", title="line"),
            ],
        )
    )  # fmt: skip
    words = alt.Chart(alt.NamedData(name=f"{name}-words"))
    layers: list[Any] = [lines]
    sides: tuple[tuple[str, float, Literal["left", "right"], int], ...] = (
        ("from", 0.0, "right", -8),
        ("to", 1.0, "left", 8),
    )
    for side, place, align, shift in sides:
        here = words.transform_filter(f"datum.side == '{side}'").transform_calculate(x=f"{place}")
        layers.append(
            here.mark_text(style="annotation", align=align, dx=shift, fontSize=12).encode(
                x=x, y=y, text="word:N"
            )
        )
        layers.append(
            here.transform_filter("datum.end")
            .mark_circle(size=26, color=OKABE_ITO["vermillion"], opacity=1)
            .encode(x=x, y=y)
        )
    score = f", right for {wording.percent(best['accuracy'])} of {relation}" if best else ""
    return alt.layer(*layers).properties(
        width=320,
        height=21 * n_words,
        title=alt.Title(
            f"{relation}: head {head}", subtitle=f"{ARROWS[group[0]['direction']]}{score}"
        ),
    )


def _table(panels: dict[tuple[str, str], list[dict[str, Any]]]) -> Table:
    rows = []
    for (relation, head), group in panels.items():
        for row in group:
            if row["gold"]:
                rival = max(
                    (
                        r for r in group
                        if r["from_position"] == row["from_position"] and not r["gold"]
                        and r["to_position"] != r["from_position"]
                    ),
                    key=lambda r: r["weight"],
                )  # fmt: skip
                rows.append(
                    (
                        relation,
                        head,
                        f"{row['from_word']} → {row['to_word']}",
                        wording.percent(row["weight"]),
                        f"{rival['to_word']}, {wording.percent(rival['weight'])}",
                    )
                )
    return Table(("relation", "head", "gold arc", "attention", "next best word"), tuple(rows))
