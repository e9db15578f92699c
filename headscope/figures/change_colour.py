"""Colour for changes: white is none, orange is worse, blue is better, safe for everyone."""

from __future__ import annotations

import altair as alt

#: Blue to vermillion through white, after Okabe & Ito.
RANGE = ("#0072B2", "#8fc3e3", "#f5f5f5", "#f0b48a", "#D55E00")


def change_colour(
    title: str, reach: float, *, length: int, lower_is_better: bool, form: str = "+.2~g"
) -> alt.Color:
    """A scale that is symmetric about 0; orange is worse, whichever way the metric points."""
    reach = reach or 1.0
    legend = alt.Legend(
        title=title,
        orient="bottom",
        direction="horizontal",
        gradientLength=length,
        format=form,
        values=[-reach, 0.0, reach],
        titleLimit=0,
    )
    steps = [-reach, -reach / 2, 0.0, reach / 2, reach]
    colours = list(RANGE) if lower_is_better else list(reversed(RANGE))
    scale = alt.Scale(domain=steps, range=colours, clamp=True)
    return alt.Color("value:Q", scale=scale, legend=legend)
