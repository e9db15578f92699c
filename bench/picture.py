"""A chart of the bench as an image for the documentation, in the look of all figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import altair as alt

from headscope.figures import theme
from headscope.figures.image import png


def save(chart: Any, path: Path) -> None:
    """Write the chart as PNG, on white."""
    with alt.theme.enable("none"):
        spec = chart.to_dict(validate=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(png({**spec, "config": theme.config("paper")}))
