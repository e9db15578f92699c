"""Which heads look back to an antecedent (Clark et al. 2019, §4.3, Table 2)."""

from __future__ import annotations

from typing import Any, Final

import altair as alt

from headscope.figures import wording
from headscope.figures.head_values import HeadValue, head_records, read_heads, shape_of, stacks_of
from headscope.figures.heatmap import Cells, heatmap
from headscope.figures.layout import arranged
from headscope.figures.picture import Chart, Picture, Table
from headscope.figures.registered import RunLike, figure
from headscope.figures.small_multiples import part_colour
from headscope.figures.theme import OKABE_ITO
from headscope.types import Stack

MENTIONS: Final = ("all", "pronoun", "proper", "nominal")
SYSTEMS: Final = {
    "nearest": "nearest mention",
    "head_match": "nearest with the same head word",
    "rules": "four rules",
}
COLOURS: Final = (
    OKABE_ITO["blue"], OKABE_ITO["orange"], OKABE_ITO["purple"], OKABE_ITO["green"],
)  # fmt: skip
NOTE = (
    "For every mention of something mentioned before in the sequence, a head is right if the word "
    "that the mention's head word attends to most is the head word of an earlier mention of the "
    "same thing. The heat map shows all heads, the points the head that is best over all mentions, "
    "with 95 % intervals (Wilson), beside three rules. The rules have it easier: they choose among "
    "the earlier mentions, a head among all words."
)


@figure("coreference", tables=("coreference", "coreference_baseline"), order=35)
def coreference(run: RunLike) -> Picture:
    """A heat map of all heads, and the best head beside the rules."""
    values = read_heads(run.table("coreference"), what="mention", value="accuracy")
    rules: list[dict[str, Any]] = run.table("coreference_baseline").to_pylist()
    panels: dict[Stack, list[Chart]] = {}
    compared: list[dict[str, Any]] = []
    for stack in stacks_of(values):
        here = [v for v in values if v.head.stack == stack]
        best = best_head(here)
        rows = _compared(here, [r for r in rules if r["stack"] == stack], best)
        compared += rows
        cells = Cells.of(*shape_of(values, stack), width=300)
        panels[stack] = [
            heatmap(
                "heads",
                stack=stack,
                what="all",
                cells=cells,
                colour=part_colour("found", max(v.value for v in here if v.what == "all")),
                title="All mentions, every head",
                subtitle=f"most: {best.head}, {wording.percent(best.value)}",
                value_title="antecedents found",
                value_format=".1%",
                has_gaps=False,
            ),
            _dots(stack, best),
        ]
    data = {"heads": head_records(values), "compared": compared}
    sentence = found(compared)
    return Picture(
        title="Which heads look back to what a word refers to",
        sentence=sentence,
        chart=arranged(panels, columns=2, colour="independent", data=data),
        alt=f"Heat map of antecedents found per head, and the best head beside rules. {sentence}",
        note=NOTE,
        table=_table(values, rules),
        prominence=7,
    )


def best_head(values: list[HeadValue]) -> HeadValue:
    """The head that finds most antecedents over all mentions; the first of equals."""
    return max((v for v in values if v.what == "all"), key=lambda v: v.value)


def _compared(
    values: list[HeadValue], rules: list[dict[str, Any]], best: HeadValue
) -> list[dict[str, Any]]:
    rows = [
        {
            "stack": v.head.stack,
            "system": f"head {best.head}",
            "mention": v.what,
            "value": v.value,
            "low": v.low,
            "high": v.high,
            "n": v.n,
        }
        for v in values
        if v.head == best.head
    ]
    for r in rules:
        named = {"value": r["accuracy"], "low": r["ci_low"], "high": r["ci_high"], "n": r["n"]}
        rows.append({"stack": r["stack"], "system": SYSTEMS[r["system"]], "mention": r["mention"],
                     **named})  # fmt: skip
    return rows


def _dots(stack: Stack, best: HeadValue) -> Chart:
    names = [f"head {best.head}", *SYSTEMS.values()]
    base = (
        alt.Chart(alt.NamedData(name="compared"))
        .transform_filter(f"datum.stack == '{stack}'")
        .encode(
            y=alt.Y("mention:N", sort=list(MENTIONS), title=None),
            yOffset=alt.YOffset("system:N", scale=alt.Scale(domain=names)),
            color=alt.Color(
                "system:N",
                scale=alt.Scale(domain=names, range=list(COLOURS)),
                legend=alt.Legend(title=None, orient="top", columns=2, symbolOpacity=1,
                                  labelLimit=240),
            ),
            tooltip=[
                alt.Tooltip("system:N", title="system"),
                alt.Tooltip("mention:N", title="mentions"),
                alt.Tooltip("value:Q", title="antecedents found", format=".1%"),
                alt.Tooltip("n:Q", title="mentions", format=","),
            ],
        )
    )  # fmt: skip
    x = alt.X(
        "value:Q",
        title="antecedents found",
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(format=".0%", values=[0, 0.25, 0.5, 0.75, 1]),
    )
    return alt.layer(
        base.mark_rule(strokeWidth=1.5).encode(x=alt.X("low:Q"), x2="high:Q"),
        base.mark_point(filled=True, size=55, opacity=1).encode(
            x=x,
            shape=alt.Shape(
                "system:N",
                scale=alt.Scale(domain=names, range=["circle", "square", "diamond", "triangle-up"]),
                legend=None,
            ),
        ),
    ).properties(
        width=330,
        height=alt.Step(13),
        title=alt.Title("The best head beside three rules", subtitle="by type of mention"),
    )


def found(rows: list[dict[str, Any]]) -> str:
    """The best head's accuracy, and where it stands among the rules."""
    whole = [r for r in rows if r["mention"] == "all"]
    head = next(r for r in whole if r["system"].startswith("head "))
    rules = [r for r in whole if r["stack"] == head["stack"] and r is not head]
    beside = wording.listed(
        [f"{wording.percent(r['value'])} by the rule “{r['system']}”" for r in rules]
    )
    return (
        f"{wording.capital(head['system'])} finds the antecedent of "
        f"{wording.percent(head['value'])} of {wording.plural(head['n'], 'mention')} "
        f"(95 % interval {wording.share_interval(head['low'], head['high'])}), against {beside}."
    )


def _table(values: list[HeadValue], rules: list[dict[str, Any]]) -> Table:
    """Clark's Table 2: rules and the best head per type of mention."""
    rows = []
    for r in rules:
        interval = wording.share_interval(r["ci_low"], r["ci_high"])
        rows.append((SYSTEMS[r["system"]], r["mention"], wording.percent(r["accuracy"]), interval,
                     wording.count(r["n"])))  # fmt: skip
    for mention in MENTIONS:
        here = [v for v in values if v.what == mention and v.known]
        for v in sorted(here, key=lambda v: -v.value)[:3]:
            interval = wording.share_interval(v.low, v.high)
            rows.append(
                (f"head {v.head}", mention, wording.percent(v.value), interval, wording.count(v.n))
            )
    return Table(("system", "mentions", "antecedents found", "95 % interval", "n"), tuple(rows))
