"""Attention to linguistic features before and after fine-tuning (Kovaleva et al. 2019, §4.4)."""

from __future__ import annotations

import altair as alt

from headscope.figures.before_after import block, changes, largest_change, models_of, read_sides
from headscope.figures.head_values import head_records
from headscope.figures.heatmap import share_colour
from headscope.figures.picture import Chart, Picture, Table
from headscope.figures.registered import RunLike, figure
from headscope.figures.small_multiples import part_colour
from headscope.figures.token_kinds import KINDS, LINGUISTIC

DELIMITERS = ("cls", "sep")
NOTE = (
    "The attention that the strongest token of a kind draws from an average token, in both models "
    "over the same sequences. Linguistic kinds have one scale in all panels, delimiters another. "
    "The largest of many changes was picked after looking, which its interval does not account for."
)


@figure("features_compared", tables=("features_compared",), order=71)
def features_compared(run: RunLike) -> Picture:
    """Pairs of heat maps, before and after."""
    table = run.table("features_compared")
    values = read_sides(table, what="feature", value="mean")
    linguistic = [v.value for v in values if v.known and v.what.split("|")[0] in LINGUISTIC]
    top = max(linguistic, default=0.0)
    groups = (
        (LINGUISTIC, part_colour("attention drawn by the strongest token of a kind", top)),
        (DELIMITERS, share_colour("attention drawn by the strongest delimiter")),
    )
    blocks: list[Chart] = [
        part for names, colour in groups if (part := block(values, names, KINDS, colour))
    ]
    chart = alt.vconcat(*blocks, spacing=30).resolve_scale(color="independent")
    chart.datasets = {"heads": head_records(values)}
    names = [n for n in (*LINGUISTIC, *DELIMITERS) if changes(values, n)]
    sentence = largest_change(values, names, KINDS)
    rows = []
    for name in names:
        found = changes(values, name)
        head = max(found, key=lambda h: abs(found[h]))
        mean = sum(abs(x) for x in found.values()) / len(found)
        rows.append(
            (KINDS[name], str(head), f"{found[head] * 100:+.1f} points", f"{mean * 100:.2f} points")
        )
    before, after = models_of(table)
    return Picture(
        title=f"Attention drawn by kinds of tokens: {before} (before) and {after} (after)",
        sentence=sentence,
        chart=chart,
        alt=f"Pairs of heat maps of layer by head. {sentence}",
        note=NOTE,
        table=Table(
            ("drawn by", "most changed head", "change", "mean change, either way"), tuple(rows)
        ),
        prominence=5,
    )
