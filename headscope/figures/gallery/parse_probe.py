"""How well all heads together parse (Clark et al. 2019, §5, Table 3)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import altair as alt

from headscope.figures import wording
from headscope.figures.picture import Picture, Table
from headscope.figures.registered import RunLike, figure
from headscope.figures.theme import OKABE_ITO

PROBES: Final = {
    "attention_vectors": "attention and word vectors",
    "attention": "attention alone",
    "distance_vectors": "word vectors and distance",
    "right_branching": "always the next word",
    "random_attention_vectors": "random model's attention and word vectors",
}
_ATTENTION: Final = ("attention_vectors", "attention")

NOTE = (
    "A probe names the head of every word of sentences it has not learnt from; the bar is the "
    "share of words for which it is right (UAS; punctuation does not count, and ROOT is a "
    "candidate), with its 95 % interval. Blue bars read the model's attention maps; orange ones "
    "are baselines that any syntax in the maps has to beat. The intervals take words as "
    "independent, which words of one sentence are not. A high bar says that the maps hold the "
    "syntax, not that the model uses it."
)


@dataclass(frozen=True, slots=True)
class Score:
    """One probe's accuracy on the words it was scored on."""

    probe: str
    uas: float
    low: float
    high: float
    n: int

    @property
    def label(self) -> str:
        return PROBES.get(self.probe, self.probe.replace("_", " "))


def read_scores(run: RunLike) -> list[Score]:
    """The rows of the table, best first."""
    table = run.table("parse_probe")
    nan = [math.nan] * table.num_rows

    def column(name: str) -> list[Any]:
        return table.column(name).to_pylist() if name in table.column_names else nan

    names = ("probe", "uas", "ci_low", "ci_high", "n")
    rows = [Score(*row) for row in zip(*map(column, names), strict=True)]
    return sorted(rows, key=lambda s: -s.uas if not math.isnan(s.uas) else 1.0)


@figure("parse_probe", tables=("parse_probe",), order=64)
def parse_probe(run: RunLike) -> Picture:
    """One bar per probe with its interval."""
    scores = read_scores(run)
    rows = [
        {
            "probe": s.label,
            "uas": None if math.isnan(s.uas) else s.uas,
            "low": s.low,
            "high": s.high,
            "n": s.n,
            "kind": "reads the model's attention" if s.probe in _ATTENTION else "baseline",
        }
        for s in scores
    ]
    base = alt.Chart(alt.NamedData(name="probes")).encode(
        y=alt.Y(
            "probe:N",
            sort=[s.label for s in scores],
            title=None,
            axis=alt.Axis(labelLimit=280, labelFontSize=12),
        )
    )
    colour = alt.Color(
        "kind:N",
        scale=alt.Scale(
            domain=["reads the model's attention", "baseline"],
            range=[OKABE_ITO["blue"], OKABE_ITO["orange"]],
        ),
        legend=alt.Legend(title=None, orient="top", symbolType="square"),
    )
    x = alt.X(
        "uas:Q",
        title="words with the right head (UAS without punctuation)",
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(format=".0%", tickCount=5),
    )
    tips = [
        alt.Tooltip("probe:N"),
        alt.Tooltip("uas:Q", title="UAS", format=".1%"),
        alt.Tooltip("low:Q", title="95 % interval from", format=".1%"),
        alt.Tooltip("high:Q", title="to", format=".1%"),
        alt.Tooltip("n:Q", title="words", format=","),
    ]
    chart = alt.layer(
        base.mark_bar(height={"band": 0.62}).encode(x=x, color=colour, tooltip=tips),
        base.mark_rule(style="reference", strokeWidth=1.5, strokeDash=[]).encode(
            x=alt.X("low:Q"), x2="high:Q"
        ),
        base.mark_text(style="annotation", align="left", dx=8, fontSize=12).encode(
            x=alt.X("high:Q"), text=alt.Text("uas:Q", format=".1%")
        ),
    ).properties(width=460, height=34 * len(rows))
    chart.datasets = {"probes": rows}
    sentence = found(scores)
    return Picture(
        title="How well the heads parse together",
        sentence=sentence,
        chart=chart,
        alt=f"Bars of unlabelled attachment scores, one per probe. {sentence}",
        note=NOTE,
        table=_table(scores),
        prominence=9,
    )


def found(scores: list[Score]) -> str:
    """The best probe on attention, and how far it is from the best baseline."""
    known = [s for s in scores if not math.isnan(s.uas)]
    readers = [s for s in known if s.probe in _ATTENTION]
    baselines = [s for s in known if s.probe not in _ATTENTION]
    if not readers:
        return "No probe on attention was scored."
    best = readers[0]
    sentence = (
        f"A probe on {best.label} finds the head of {wording.percent(best.uas)} of "
        f"{wording.count(best.n)} words (95 % interval "
        f"{wording.share_interval(best.low, best.high)})"
    )
    if not baselines:
        return sentence + "."
    bar = baselines[0]
    margin = (best.uas - bar.uas) * 100
    apart = best.low > bar.high
    versus = f"{bar.label}, {wording.percent(bar.uas)}"
    if apart:
        return f"{sentence}, {margin:.1f} points above the best baseline ({versus})."
    if abs(margin) < 0.05:
        return f"{sentence}, no more than the best baseline ({versus})."
    relation = "above" if margin > 0 else "below"
    doubt = "" if bar.low > best.high else ", and their intervals overlap"
    return f"{sentence}, {abs(margin):.1f} points {relation} the best baseline ({versus}){doubt}."


def _table(scores: list[Score]) -> Table:
    rows = tuple(
        (
            s.label,
            wording.percent(s.uas),
            wording.share_interval(s.low, s.high),
            wording.count(s.n),
        )
        for s in scores
    )
    return Table(("probe", "UAS", "95 % interval", "words"), rows)
