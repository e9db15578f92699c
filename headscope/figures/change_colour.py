"""Colour for changes: white is none, one hue for losses, another for gains, safe for everyone."""

from __future__ import annotations

import altair as alt

#: Blue to vermillion through white, after Okabe & Ito.
RANGE = ("#0072B2", "#8fc3e3", "#f5f5f5", "#f0b48a", "#D55E00")


def change_colour(title: str, reach: float, *, length: int, form: str = "+.3~f") -> alt.Color:
    """A scale that is symmetric about 0, so that white is no change."""
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
    scale = alt.Scale(domain=steps, range=list(RANGE), clamp=True)
    return alt.Color("value:Q", scale=scale, legend=legend)
