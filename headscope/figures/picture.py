"""A chart together with what it says in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import altair as alt

from headscope.figures import theme

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

    The chart carries no theme: `themed` adds the colours of a light or a dark page.
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
        """Shown by notebooks as the chart itself, by consoles as its title and finding."""
        chart = alt.Chart.from_dict(self.themed())
        bundle = chart._repr_mimebundle_()
        data: dict[str, Any] = dict(bundle[0] if isinstance(bundle, tuple) else bundle or {})
        data["text/plain"] = f"{self.title}\n{self.sentence}"
        return data
