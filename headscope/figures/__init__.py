"""Figures of a run: Altair charts with a finding in words, images without a browser, a report.

A figure is one file in `headscope/figures/gallery/` with one decorated function::

    @figure("surface", tables=("surface",), order=10)
    def surface(run: RunLike) -> Picture: ...

It reads the run's tables and never the model. A figure whose tables a run lacks is left out.
A section of the heads' passports is likewise one file in `headscope/figures/passport/`.
"""

from headscope.figures.atlas import PASSPORT, Passport, Row, passport_of, section
from headscope.figures.atlas_view import Atlas
from headscope.figures.export import export_figure
from headscope.figures.picture import Picture, Table
from headscope.figures.registered import FIGURES, Figure, RunLike, available, draw, figure
from headscope.figures.report import PageLinks, render_atlas, render_report

__all__ = [
    "FIGURES",
    "PASSPORT",
    "Atlas",
    "Figure",
    "PageLinks",
    "Passport",
    "Picture",
    "Row",
    "RunLike",
    "Table",
    "available",
    "draw",
    "export_figure",
    "figure",
    "passport_of",
    "render_atlas",
    "render_report",
    "section",
]
