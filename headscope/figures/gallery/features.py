"""Who draws attention: nouns, verbs, negation, delimiters (Kovaleva et al. 2019, §4.4)."""

from __future__ import annotations

import altair as alt

from headscope.figures import wording
from headscope.figures.head_values import HeadValue, head_records, read_heads
from headscope.figures.heatmap import share_colour
from headscope.figures.layout import arranged
from headscope.figures.picture import Chart, Picture, Table
from headscope.figures.registered import RunLike, figure
from headscope.figures.small_multiples import part_colour, small_multiples, strongest
from headscope.figures.token_kinds import KINDS, LINGUISTIC

NOTE = (
    "Each cell is a head; its colour is the attention that the strongest token of a kind draws "
    "from an average token, averaged over the sequences that have one. Linguistic kinds share one "
    "scale, from 0 to their largest value; [CLS] and [SEP] have the scale of all shares, 0 to "
    "100 %. The more tokens of a kind a sequence has, the larger its strongest is by chance: "
    "compare heads within a panel, or models, rather than kinds."
)
DELIMITERS = ("cls", "sep")


@figure("features", tables=("features",), order=60)
def features(run: RunLike) -> Picture:
    """Small multiples of linguistic kinds on one scale, and of delimiters on another."""
    values = read_heads(run.table("features"), what="feature", value="mean")
    linguistic = [v for v in values if v.what in LINGUISTIC and v.known]
    top = max((v.value for v in linguistic), default=0.0)
    groups = (
        (LINGUISTIC, part_colour("attention drawn by the strongest token of a kind", top)),
        (DELIMITERS, share_colour("attention drawn by the strongest delimiter")),
    )
    blocks: list[Chart] = []
    for names, colour in groups:
        panels = small_multiples(values, names, KINDS, colour, width=240)
        if panels:
            blocks.append(arranged(panels, columns=3, colour="shared", data={}))
    chart = alt.vconcat(*blocks, spacing=30).resolve_scale(color="independent")
    chart.datasets = {"heads": head_records(values)}
    sentence = found(values)
    return Picture(
        title="How much attention nouns, verbs, negation and delimiters draw",
        sentence=sentence,
        chart=chart,
        alt=f"Heat maps of layer by head, one per kind of token. {sentence}",
        note=NOTE,
        table=_table(values),
        prominence=4,
    )


def found(values: list[HeadValue]) -> str:
    """The strongest head for a linguistic kind, beside the strongest for a delimiter."""
    top = strongest([v for v in values if v.what in LINGUISTIC])
    delimiter = strongest([v for v in values if v.what in DELIMITERS])
    parts: list[str] = []
    for best in (top, delimiter):
        if best is not None:
            interval = wording.share_interval(best.low, best.high)
            parts.append(
                f"{'of' if parts else 'Of'} {KINDS[best.what]} by head {best.head}: "
                f"{wording.percent(best.value)} of an average token's attention "
                f"({wording.support(interval, best.n)})"
            )
    if not parts:
        return "No sequence has tokens of any of these kinds."
    if top is not None and delimiter is not None:
        ahead = "more" if top.value > delimiter.value else "less"
        return (
            f"The strongest of all linguistic kinds draws {ahead} than the strongest delimiter. "
            f"{parts[0]}; {parts[1]}."
        )
    return f"{parts[0]}."


def _table(values: list[HeadValue]) -> Table:
    rows = []
    for name in KINDS:
        top = strongest([v for v in values if v.what == name])
        if top is not None:
            interval = wording.share_interval(top.low, top.high)
            known = [v.value for v in values if v.what == name and v.known]
            mean = wording.percent(sum(known) / len(known))
            cells = (str(top.head), wording.percent(top.value), interval, wording.count(top.n))
            rows.append((KINDS[name], *cells, mean))
    columns = ("drawn by", "strongest head", "attention", "95 % interval", "n", "mean of all heads")
    return Table(columns, tuple(rows))
