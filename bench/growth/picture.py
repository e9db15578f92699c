"""All axes side by side, both scales logarithmic: a straight line's slope is the exponent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import altair as alt

from bench.picture import save
from headscope.figures.theme import OKABE_ITO

_COLOURS = {
    "forward pass": "#59626d",
    "all measures but divergence": OKABE_ITO["blue"],
    "divergence, sampled rows": OKABE_ITO["orange"],
    "divergence, all rows": OKABE_ITO["vermillion"],
    "sieve": OKABE_ITO["green"],
    "parser": OKABE_ITO["purple"],
}


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """One small panel per axis, with the exponents at the ends of the lines."""
    colour = alt.Color(
        "what:N",
        title=None,
        scale=alt.Scale(domain=list(_COLOURS), range=list(_COLOURS.values())),
        legend=alt.Legend(orient="bottom", columns=3),
    )
    panels = []
    for axis in dict.fromkeys(row["axis"] for row in rows):
        mine = [{**row, "ms": 1000 * row["seconds"]} for row in rows if row["axis"] == axis]
        last = max(row["size"] for row in mine)
        ends = [{**row, "told": f"{row['exponent']:.1f}"} for row in mine if row["size"] == last]
        x = alt.X("size:Q", title=axis, scale=alt.Scale(type="log", nice=False, padding=12))
        x.axis = alt.Axis(values=sorted({row["size"] for row in mine}), format="d", grid=False)
        y = alt.Y(
            "ms:Q", title="ms", scale=alt.Scale(type="log"), axis=alt.Axis(tickCount=4, grid=False)
        )
        base = alt.Chart(alt.Data(values=mine), width=190, height=170)
        line = base.mark_line(point=True, strokeWidth=1.8).encode(x, y, colour)
        text = (
            alt.Chart(alt.Data(values=ends))
            .mark_text(align="left", dx=6, fontSize=11)
            .encode(x, y, colour, alt.Text("told:N"))
        )
        panels.append(line + text)
    title = alt.TitleParams(
        "How cost grows: time over size, with the exponent at the end of each line",
        subtitle="processor time of one thread on tiny random models; both scales logarithmic",
    )
    rows_of = [alt.hconcat(*panels[i : i + 3]) for i in range(0, len(panels), 3)]
    save(alt.vconcat(*rows_of).properties(title=title), path)
