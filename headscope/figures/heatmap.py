"""A panel of coloured cells, layers × heads, made to stand beside others of its kind."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

import altair as alt

from headscope.figures import theme
from headscope.figures.picture import Chart
from headscope.types import Stack


@dataclass(frozen=True, slots=True)
class Cells:
    """Size of a panel: about as wide as asked whatever the model, cells never absurd.

    >>> Cells.of(12, 12)
    Cells(n_layers=12, n_heads=12, width=204, height=192)
    >>> Cells.of(2, 2)
    Cells(n_layers=2, n_heads=2, width=136, height=68)
    """

    n_layers: int
    n_heads: int
    width: int
    height: int

    @classmethod
    def of(cls, n_layers: int, n_heads: int, width: int = 206) -> Cells:
        cell_width = min(68, max(5, width // n_heads))
        cell_height = min(34, max(5, round(0.95 * cell_width)), max(5, 320 // n_layers))
        return cls(n_layers, n_heads, cell_width * n_heads, cell_height * n_layers)

    @property
    def gap(self) -> float:
        """Share of a band left free; tiny cells touch."""
        return 0.06 if self.width / self.n_heads >= 9 else 0.0


def ticks(n: int, most: int = 12) -> list[int]:
    """The numbers to print along n layers or heads, counted from 1.

    >>> ticks(6), ticks(24)
    ([1, 2, 3, 4, 5, 6], [1, 4, 8, 12, 16, 20, 24])
    """
    if n <= most:
        return list(range(1, n + 1))
    step = next(s for s in (2, 4, 5, 8, 10, 16, 20, 50, 100) if n / s <= 8 or s == 100)
    return [1, *range(step, n + 1, step)]


def share_colour(title: str = "share of attention") -> alt.Color:
    """Colour for shares: the same scale 0–1 in every panel of every figure."""
    legend = _legend(title, orient="top", length=200, form=".0%", values=[0, 0.25, 0.5, 0.75, 1])
    scale = {"scheme": theme.SHARE_SCHEME, "domain": [0, 1], "clamp": True}
    return alt.Color("value:Q", scale=scale, legend=legend)


def amount_colour(title: str, top: float, *, length: int, legend: bool = True) -> alt.Color:
    """Colour for an amount with a unit, from 0 to the largest value of all compared panels."""
    steps = [float(i) for i in range(int(top) + 1)] if top >= 2 else [0.0, top / 2, top]
    shown = (
        _legend(title, orient="bottom", length=length, form=".1f", values=steps) if legend else None
    )
    scale = {"scheme": theme.AMOUNT_SCHEME, "domain": [0, top], "clamp": True}
    return alt.Color("value:Q", scale=scale, legend=shown)


def _legend(
    title: str,
    *,
    orient: Literal["top", "bottom"],
    length: int,
    form: str,
    values: list[float],
) -> dict[str, Any]:
    return {
        "title": title,
        "orient": orient,
        "direction": "horizontal",
        "gradientLength": length,
        "format": form,
        "values": values,
        "titleLimit": 0,
    }


def tooltips(value_title: str) -> list[alt.Tooltip]:
    """What hovering over a head shows; see `labelled` for the fields."""
    return [
        alt.Tooltip("label:N", title="title"),
        alt.Tooltip("shown:N", title=value_title),
        alt.Tooltip("interval:N", title="95 % interval"),
        alt.Tooltip("n:Q", title="sequences", format=","),
    ]


def labelled(chart: alt.Chart, *, value_format: str, stack: Stack = "self") -> alt.Chart:
    """Add the fields `label`, `shown` and `interval`, in words."""
    prefix = "" if stack == "self" else f"{stack}:"
    return chart.transform_calculate(
        label=f"'head {prefix}' + datum.layer + '-' + datum.head",
        shown=f"isValid(datum.value) ? format(datum.value, '{value_format}') : 'no data'",
        interval="isValid(datum.low) && isValid(datum.high) ? "
        f"format(datum.low, '{value_format}') + ' – ' + format(datum.high, '{value_format}')"
        " : 'none'",
    )


def heatmap(
    data: str,
    *,
    stack: Stack,
    what: str,
    cells: Cells,
    colour: alt.Color,
    title: str,
    subtitle: str,
    value_title: str,
    value_format: str,
    has_gaps: bool,
) -> Chart:
    """Layer 1 at the top, head 1 at the left. A head without data is an empty, crossed cell.

    `data` names the records (`head_records`) that the finished chart will carry.
    """
    rows = alt.Chart(alt.NamedData(name=data)).transform_filter(
        f"datum.stack == {json.dumps(stack)} && datum.what == {json.dumps(what)}"
    )
    rows = labelled(rows, value_format=value_format, stack=stack).encode(
        x=_band("head", cells.n_heads, cells.gap),
        y=_band("layer", cells.n_layers, cells.gap),
        tooltip=tooltips(value_title),
    )
    layers: list[Any] = [
        rows.transform_filter("isValid(datum.value)").mark_rect().encode(color=colour)
    ]
    if has_gaps:
        empty = rows.transform_filter("!isValid(datum.value)")
        size = max(5.0, min(12.0, 0.7 * cells.height / cells.n_layers))
        layers += [
            empty.mark_rect(style="no_data"),
            empty.mark_text(style="no_data_sign", text="×", fontSize=size),
        ]
    return alt.layer(
        *layers,
        width=cells.width,
        height=cells.height,
        title={"text": title, "subtitle": subtitle},
    )


def _band(name: str, n: int, gap: float) -> Any:
    kind = {"layer": alt.Y, "head": alt.X}[name]
    return kind(
        f"{name}:O",
        title=name,
        # Without outer padding the first band may start at -1e-15, and Vega drops its label.
        scale={"domain": list(range(1, n + 1)), "paddingInner": gap, "paddingOuter": 0.03},
        axis={"values": ticks(n), "labelOverlap": False},
    )
