"""One look for all figures: fonts, sizes, colours, and the words for stacks.

Charts never name a colour of the page. They name a *style* (`heads`, `layer_mean`, `no_data` …)
and this file gives the style its colours for a light and for a dark background, so the same
specification serves the report in both modes, a notebook, and paper.

Layers run from the top (layer 1) to the bottom in every heat map: the order of computation, and
of reading.
"""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

Mode: TypeAlias = Literal["light", "dark", "paper"]
MODES: Final[tuple[Mode, ...]] = ("light", "dark", "paper")

FONT: Final = (
    "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Noto Sans', "
    "'Liberation Sans', Arial, sans-serif"
)

#: Okabe & Ito (2008), safe for the common kinds of colour blindness; black is left to the text,
#: and yellow, too faint on white, is used last.
OKABE_ITO: Final = {
    "vermillion": "#D55E00",
    "blue": "#0072B2",
    "green": "#009E73",
    "orange": "#E69F00",
    "sky": "#56B4E9",
    "purple": "#CC79A7",
    "yellow": "#F0E442",
}

#: Sequential, perceptually even, colour-blind-safe. Shares of 0–1 and amounts with a unit wear
#: different schemes, so that nobody reads nats as shares.
SHARE_SCHEME: Final = "viridis"
AMOUNT_SCHEME: Final = "plasma"

STACK_TITLES: Final = {
    "self": "self-attention",
    "encoder": "encoder self-attention",
    "decoder": "decoder self-attention",
    "cross": "cross-attention",
}

_INK: Final = {"light": "#24292f", "dark": "#e6e8eb"}
_SOFT: Final = {"light": "#59626d", "dark": "#a3abb6"}
_LINE: Final = {"light": "#c9ced6", "dark": "#454c57"}
_GRID: Final = {"light": "#e9ebef", "dark": "#2b3038"}
_EMPTY: Final = {"light": "#f1f2f4", "dark": "#23272e"}


def config(mode: Mode) -> dict[str, Any]:
    """The Vega-Lite `config` for a page of that mode, with a transparent background.

    `paper` is `light` on white with a margin, for images that leave the page.
    """
    if mode == "paper":
        return {**config("light"), "background": "#ffffff", "padding": 16}
    ink, soft, line, grid = _INK[mode], _SOFT[mode], _LINE[mode], _GRID[mode]
    return {
        "background": "transparent",
        "font": FONT,
        "padding": 4,
        "view": {"stroke": None},
        # Thousands of labelled cells would drown a screen reader; the chart has one description.
        "aria": True,
        "mark": {"aria": False},
        "title": {
            "anchor": "start",
            "frame": "group",
            "color": ink,
            "fontSize": 13,
            "fontWeight": 600,
            "subtitleColor": soft,
            "subtitleFontSize": 11,
            "subtitlePadding": 3,
            "offset": 8,
        },
        "axis": {
            "labelColor": soft,
            "titleColor": soft,
            "labelFontSize": 10,
            "titleFontSize": 11,
            "titleFontWeight": 400,
            "titlePadding": 6,
            "labelPadding": 4,
            "domainColor": line,
            "tickColor": line,
            "gridColor": grid,
            "tickSize": 4,
            "labelAngle": 0,
        },
        "axisBand": {"domain": False, "ticks": False, "grid": False, "labelPadding": 5},
        "legend": {
            "labelColor": soft,
            "titleColor": soft,
            "labelFontSize": 11,
            "titleFontSize": 11,
            "titleFontWeight": 400,
            "gradientThickness": 10,
            "gradientStrokeWidth": 0,
            "symbolStrokeWidth": 2,
        },
        "concat": {"spacing": 26},
        "style": {
            "heads": {
                "filled": True,
                "opacity": 0.55 if mode == "light" else 0.7,
                "strokeWidth": 0,
            },
            "head_interval": {"opacity": 0.35, "strokeWidth": 1},
            "layer_mean": {"strokeWidth": 2.5, "strokeCap": "round", "strokeJoin": "round"},
            "layer_interval": {"opacity": 0.22, "strokeWidth": 0},
            "no_data": {"color": _EMPTY[mode]},
            "no_data_sign": {"color": soft, "align": "center", "baseline": "middle"},
            "reference": {"color": soft, "strokeDash": [4, 3], "strokeWidth": 1},
            "annotation": {"color": soft, "fontSize": 10.5},
        },
    }


def css() -> str:
    """The page's own colours as custom properties, from the same source as the charts'."""
    names = {"ink": _INK, "soft": _SOFT, "line": _LINE, "grid": _GRID}
    light, dark = (
        " ".join(f"--{name}: {values[mode]};" for name, values in names.items())
        for mode in ("light", "dark")
    )
    return (
        f":root {{ --font: {FONT}; {light} }}\n"
        f"@media (prefers-color-scheme: dark) {{ :root:not([data-mode=light]) {{ {dark} }} }}\n"
        f":root[data-mode=dark] {{ {dark} }}\n"
    )
