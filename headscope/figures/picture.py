"""A chart together with what it says in words."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from html import escape
from typing import Any, TypeAlias

import altair as alt

from headscope.figures import theme
from headscope.figures.image import svg

Chart: TypeAlias = (
    alt.Chart
    | alt.LayerChart
    | alt.FacetChart
    | alt.ConcatChart
    | alt.HConcatChart
    | alt.VConcatChart
)


@dataclass(frozen=True, slots=True)
class Table:
    """The numbers behind a chart's main points, as text; the page escapes every cell."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        wrong = [row for row in self.rows if len(row) != len(self.columns)]
        if wrong:
            raise ValueError(f"expected {len(self.columns)} cells in every row, found {wrong[0]}")


@dataclass(frozen=True, slots=True)
class Picture:
    """One figure, drawn.

    `title` says what is shown; `sentence` what was found, in one sentence computed from the data;
    `alt` is the text alternative of the chart; `note` says how to read it and what it does not
    mean; `table` carries its main numbers. The report's summary quotes the sentences of the two
    pictures with the highest `prominence`.

    The chart carries no theme: `themed` adds the colours of a light or a dark page, or of
    paper.
    """

    title: str
    sentence: str
    chart: Chart
    alt: str
    note: str = ""
    table: Table | None = None
    prominence: int = 0

    def spec(self) -> dict[str, Any]:
        """The Vega-Lite specification, self-contained, without colours of a page."""
        # Altair copies and checks all it is given, several times; data needs neither.
        bare = self.chart.copy(deep=False)
        data, bare.datasets = self.chart.datasets, alt.Undefined
        with alt.theme.enable("none"):  # a notebook's own theme must not leak in
            spec: dict[str, Any] = bare.to_dict(validate=False)
        for key in ("$schema", "config"):
            spec.pop(key, None)
        if data is not alt.Undefined:
            spec["datasets"] = {**spec.get("datasets", {}), **data}
        spec["description"] = self.alt
        return spec

    def themed(self, mode: theme.Mode = "light") -> dict[str, Any]:
        """The specification with fonts, sizes and colours for a light or a dark background."""
        return {**self.spec(), "$schema": alt.SCHEMA_URL, "config": theme.config(mode)}

    def _repr_mimebundle_(self, *_: object, **__: object) -> dict[str, Any]:
        """In notebooks the live chart where the front end can draw it, else its image.

        Nothing is loaded from elsewhere. `picture.chart` is the Altair chart, to build upon.
        """
        spec = self.themed("paper")
        image = base64.b64encode(svg(spec)).decode()
        html = (
            f"<figure><figcaption><strong>{escape(self.title)}</strong><br>"
            f"{escape(self.sentence)}</figcaption>"
            f'<img alt="{escape(self.alt)}" src="data:image/svg+xml;base64,{image}"></figure>'
        )
        return {
            f"application/vnd.vegalite.v{alt.SCHEMA_VERSION.lstrip('v').split('.')[0]}+json": spec,
            "text/html": html,
            "text/plain": f"{self.title}\n{self.sentence}",
        }
