"""Which head parses which relation: Clark's Table 1 for this model (Clark et al. 2019, §4.2)."""

from __future__ import annotations

import math
from typing import Any, Final

import altair as alt

from headscope.figures import wording
from headscope.figures.picture import Chart, Picture, Table
from headscope.figures.registered import RunLike, figure
from headscope.figures.theme import OKABE_ITO
from headscope.types import HeadId

#: Relations shown: the most frequent ones with enough arcs, and the widest margins of the rest.
N_FREQUENT: Final = 14
N_STRIKING: Final = 6
ENOUGH: Final = 20

ARROWS: Final = {
    "dependent_to_head": "dependent attends to head",
    "head_to_dependent": "head attends to dependent",
}
NOTE = (
    "Every head is used as a parser that takes, for each word, the other word of the sentence with "
    "the most attention. A point is the best of all heads and both directions for a relation, with "
    "its 95 % interval (Wilson) and its name; the grey bar is the best fixed distance, which knows "
    "no syntax: what counts is the gap. Both were picked on the data they are shown on; the "
    "columns “held out” of the table choose on one half of the sequences and test on the other. A "
    "head that finds a relation attends along it; that does not say that the model needs it."
)


def rows_of(run: RunLike, name: str) -> list[dict[str, Any]]:
    """A table as rows, empty where the run lacks it."""
    rows: list[dict[str, Any]] = run.table(name).to_pylist() if name in run.tables else []
    return rows


@figure("parser", tables=("parser_best",), order=32)
def parser(run: RunLike) -> Picture:
    """Best head and best fixed offset per relation."""
    rows = rows_of(run, "parser_best")
    shown = chosen(rows)
    return Picture(
        title="Which head finds which grammatical relation",
        sentence=found(rows),
        chart=_chart(shown),
        alt=f"Accuracy of the best head per relation beside a fixed distance. {found(rows)}",
        note=NOTE,
        table=_table(rows, rows_of(run, "parser_examples")),
        prominence=9,
    )


def chosen(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """`all`, the most frequent relations, and those of the rest with the widest margins."""
    enough = [r for r in rows if r["n"] >= ENOUGH and r["relation"] != "punct"] or rows
    by_support = sorted(enough, key=lambda r: (r["relation"] != "all", -r["n"], r["relation"]))
    frequent, rest = by_support[: 1 + N_FREQUENT], by_support[1 + N_FREQUENT :]
    striking = sorted(rest, key=lambda r: -r["margin"])[:N_STRIKING]
    return frequent + [r for r in striking if r["margin"] > 0]


def head_of(row: dict[str, Any]) -> HeadId:
    """The head a row speaks of."""
    return HeadId(row["layer"], row["head"], row.get("stack") or "self")


def found(rows: list[dict[str, Any]]) -> str:
    """The relation with the widest margin, and how the best head does on all words."""
    enough = [r for r in rows if r["n"] >= ENOUGH and r["relation"] not in ("all", "punct")]
    if not enough:
        return "No relation occurs often enough to tell heads apart."
    # by the margin that is left at the lower end of the interval: small samples do not win
    top = max(enough, key=lambda r: r["ci_low"] - r["baseline"])
    wins = sum(r["ci_low"] > r["baseline"] for r in enough)
    sentence = (
        f"Head {head_of(top)} finds {top['relation']} for {wording.percent(top['accuracy'])} of "
        f"{wording.plural(top['n'], 'word')} "
        f"(95 % interval {wording.share_interval(top['ci_low'], top['ci_high'])}), where the best "
        f"fixed distance ({top['offset']:+d}) finds {wording.percent(top['baseline'])}"
    )
    whole = next((r for r in rows if r["relation"] == "all"), None)
    if whole is not None:
        sentence += (
            f"; over all relations no head is right more often than {head_of(whole)}, "
            f"{wording.percent(whole['accuracy'])} against {wording.percent(whole['baseline'])}"
        )
    return (
        f"{sentence}; the best head beats the fixed distance clearly in {wins} of "
        f"{wording.plural(len(enough), 'relation')}."
    )


def _chart(rows: list[dict[str, Any]]) -> Chart:
    several = len({r.get("stack") for r in rows}) > 1
    data = [
        {
            "relation": f"{r['stack']}: {r['relation']}" if several else r["relation"],
            "head": str(head_of(r)),
            "direction": ARROWS[r["direction"]],
            **{k: _number(r[k]) for k in ("accuracy", "ci_low", "ci_high", "baseline", "margin")},
            "fixed": f"{r['offset']:+d}",
            "n": r["n"],
        }
        for r in rows
    ]
    order = [d["relation"] for d in data]
    base = alt.Chart(alt.NamedData(name="relations")).encode(
        y=alt.Y("relation:N", sort=order, title=None, axis=alt.Axis(labelLimit=160)),
        tooltip=[
            alt.Tooltip("relation:N", title="relation"),
            alt.Tooltip("head:N", title="best head"),
            alt.Tooltip("direction:N", title="direction"),
            alt.Tooltip("accuracy:Q", title="accuracy", format=".1%"),
            alt.Tooltip("baseline:Q", title="fixed distance", format=".1%"),
            alt.Tooltip("fixed:N", title="words away"),
            alt.Tooltip("n:Q", title="words", format=","),
        ],
    )
    x = alt.X(
        "accuracy:Q",
        title="share of words whose head is found",
        scale=alt.Scale(domain=[0, 1.08], nice=False),
        axis=alt.Axis(format=".0%", values=[0, 0.25, 0.5, 0.75, 1]),
    )
    colour = alt.Color(
        "direction:N",
        scale=alt.Scale(
            domain=list(ARROWS.values()), range=[OKABE_ITO["blue"], OKABE_ITO["vermillion"]]
        ),
        legend=alt.Legend(title=None, orient="top", symbolOpacity=1),
    )
    shape = alt.Shape(
        "direction:N",
        scale=alt.Scale(domain=list(ARROWS.values()), range=["circle", "triangle-left"]),
    )
    chart = alt.layer(
        base.mark_bar(style="layer_interval", height=11).encode(
            x=alt.X("baseline:Q", scale=alt.Scale(domain=[0, 1.08], nice=False))
        ),
        base.mark_rule(strokeWidth=1.5).encode(x=alt.X("ci_low:Q"), x2="ci_high:Q", color=colour),
        base.mark_point(filled=True, size=64, opacity=1).encode(x=x, color=colour, shape=shape),
        base.mark_text(style="annotation", align="left", dx=7).encode(
            x=alt.X("ci_high:Q"), text="head:N"
        ),
        base.mark_text(style="annotation", align="right", dx=-4, fontSize=9).encode(
            x=alt.X("baseline:Q"), text="fixed:N"
        ),
    ).properties(
        width=520,
        height=alt.Step(19),
        title=alt.Title(
            "The best head per relation, and the best fixed distance",
            subtitle="points are heads, grey bars the fixed distance in words to the right (+)",
        ),
    )
    chart.datasets = {"relations": data}
    return chart


def _number(x: float | None) -> float | None:
    return None if x is None or math.isnan(x) else float(f"{x:.5g}")


def _table(rows: list[dict[str, Any]], examples: list[dict[str, Any]]) -> Table:
    columns = ("relation", "head", "direction", "accuracy", "95 % interval", "words",
               "fixed distance", "margin", "head, held out", "distance, held out",
               "right in", "wrong in")  # fmt: skip
    return Table(
        columns,
        tuple(
            (
                r["relation"],
                str(head_of(r)),
                ARROWS[r["direction"]],
                wording.percent(r["accuracy"]),
                wording.share_interval(r["ci_low"], r["ci_high"]),
                wording.count(r["n"]),
                f"{wording.percent(r['baseline'])} ({r['offset']:+d})",
                f"{r['margin'] * 100:+.1f}",
                wording.percent(r["held_out_accuracy"]),
                wording.percent(r["held_out_baseline"]),
                _example(r, examples, right=True),
                _example(r, examples, right=False),
            )
            for r in rows
        ),
    )


def _example(row: dict[str, Any], examples: list[dict[str, Any]], *, right: bool) -> str:
    """The shortest sentence of the sample, with what was pointed to."""
    mine = [
        e
        for e in examples
        if e["relation"] == row["relation"]
        and e["correct"] == right
        and e.get("stack") == row.get("stack")
    ]
    if not mine:
        return "–"
    e = min(mine, key=lambda e: (len(e["sentence"]), e["sentence"]))
    predicted = e["predicted"] or "nothing"
    arrow = f"{e['dependent']} → {predicted}" + ("" if right else f", not {e['gold']}")
    return f"“{e['sentence']}” ({arrow})"
