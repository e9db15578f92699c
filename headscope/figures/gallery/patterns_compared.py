"""Pattern classes of heads before and after fine-tuning (Kovaleva et al. 2019, §4.1)."""

from __future__ import annotations

from headscope.figures.before_after import block, changes, largest_change, models_of, read_sides
from headscope.figures.head_values import head_records
from headscope.figures.heatmap import share_colour
from headscope.figures.picture import Picture, Table
from headscope.figures.registered import RunLike, figure

LABELS = {
    "vertical": "vertical",
    "diagonal": "diagonal",
    "vertical_diagonal": "vertical + diagonal",
    "block": "block",
    "heterogeneous": "heterogeneous",
}
NOTE = (
    "The share of a head's maps that the classifier puts into each class, in both models over the "
    "same sequences, on one scale. The classifier errs; its confusions are in the documentation."
)


@figure("patterns_compared", tables=("patterns_compared",), order=72)
def patterns_compared(run: RunLike) -> Picture:
    """Pairs of heat maps, before and after."""
    table = run.table("patterns_compared")
    values = read_sides(table, what="pattern", value="share")
    names = [name for name in LABELS if changes(values, name)]
    chart = block(values, names, LABELS, share_colour("share of maps"))
    if chart is None:
        raise ValueError("the table patterns_compared has no known share")
    chart.datasets = {"heads": head_records(values)}
    rows = []
    for name in names:
        found = changes(values, name)
        head = max(found, key=lambda h: abs(found[h]))
        mean = sum(found.values()) / len(found)
        rows.append(
            (
                LABELS[name],
                str(head),
                f"{found[head] * 100:+.1f} points",
                f"{mean * 100:+.2f} points",
            )
        )
    sentence = largest_change(values, names, LABELS)
    before, after = models_of(table)
    return Picture(
        title=f"Pattern classes: {before} (before) and {after} (after)",
        sentence=sentence,
        chart=chart,
        alt=f"Pairs of heat maps of layer by head. {sentence}",
        note=NOTE,
        table=Table(("class", "most changed head", "change", "mean change"), tuple(rows)),
        prominence=4,
    )
