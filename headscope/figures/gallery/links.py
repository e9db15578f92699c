"""Attention between verbs and subjects, pronouns and nouns (Kovaleva et al. 2019, §4.5)."""

from __future__ import annotations

from headscope.figures import wording
from headscope.figures.head_values import head_records, read_heads
from headscope.figures.heatmap import share_colour
from headscope.figures.layout import arranged
from headscope.figures.picture import Picture, Table
from headscope.figures.registered import RunLike, figure
from headscope.figures.small_multiples import small_multiples, strongest
from headscope.figures.token_kinds import LINKS

NOTE = (
    "The strongest weight from the one to the other word of a linked pair, averaged over the "
    "sequences that have such a link. Subjects stand close before their verbs, so a head that "
    "looks at the previous token scores high here without knowing any grammar; the role tests and "
    "the parser's baseline tell the two apart."
)


@figure("links", tables=("links",), order=61)
def links(run: RunLike) -> Picture:
    """One heat map per link and direction."""
    values = read_heads(run.table("links"), what="link", value="mean")
    present = [name for name in LINKS if any(v.what == name and v.known for v in values)]
    panels = small_multiples(
        values, present, LINKS, share_colour("strongest weight of a link"), width=195
    )
    tops = [top for name in present if (top := strongest([v for v in values if v.what == name]))]
    parts = [f"{LINKS[t.what]} in {t.head} ({wording.percent(t.value)})" for t in tops]
    first = max(tops, key=lambda t: t.value, default=None)
    sentence = "No sequence has such a link."
    if first is not None:
        support = wording.support(wording.share_interval(first.low, first.high), first.n)
        sentence = (
            f"The strongest weights of a sequence's links are highest for {wording.listed(parts)}; "
            f"the first among them is {LINKS[first.what]} in {first.head}, {support}."
        )
    rows = tuple(
        (
            LINKS[t.what],
            str(t.head),
            wording.percent(t.value),
            wording.share_interval(t.low, t.high),
            wording.count(t.n),
        )
        for t in tops
    )
    return Picture(
        title="Attention between verbs and their subjects, pronouns and nouns",
        sentence=sentence,
        chart=arranged(panels, columns=4, colour="shared", data={"heads": head_records(values)}),
        alt=f"Heat maps of layer by head, one per link. {sentence}",
        note=NOTE,
        table=Table(("link", "strongest head", "weight", "95 % interval", "n"), rows),
        prominence=2,
    )
