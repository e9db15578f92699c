"""A Vega-Lite specification as an image, by vl-convert: no browser, no network."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

import altair as alt

#: PNG pixels per CSS pixel: sharp in print at the figure's own size.
_SCALE: Final = 3


def vega_lite_version() -> str:
    """The Vega-Lite that Altair writes for, as vl-convert names it ("6.4")."""
    return ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])


def svg(spec: dict[str, Any]) -> bytes:
    """The chart as SVG; the same specification gives the same bytes."""
    import vl_convert

    text: str = vl_convert.vegalite_to_svg(spec, **_options())
    return _renumbered(text).encode()


def png(spec: dict[str, Any]) -> bytes:
    """The chart as PNG."""
    import vl_convert

    image: bytes = vl_convert.vegalite_to_png(spec, scale=_SCALE, **_options())
    return image


def pdf(spec: dict[str, Any]) -> bytes:
    """The chart as PDF."""
    import vl_convert

    page: bytes = vl_convert.vegalite_to_pdf(spec, **_options())
    return page


#: How to make an image, by the suffix of its file.
FORMATS: Final[dict[str, Callable[[dict[str, Any]], bytes]]] = {
    ".png": png,
    ".svg": svg,
    ".pdf": pdf,
}


def _options() -> dict[str, Any]:
    return {"vl_version": vega_lite_version(), "allowed_base_urls": []}


def _renumbered(svg: str) -> str:
    """Ids counted from 0: Vega counts them on from figure to figure of a process.

    >>> _renumbered('<g fill="url(#gradient_7)"/><linearGradient id="gradient_7"/>')
    '<g fill="url(#gradient_0)"/><linearGradient id="gradient_0"/>'
    """
    numbers: dict[str, int] = {}
    return re.sub(
        r'((?:id="|url\(#)(?:gradient_|clip))(\d+)',
        lambda m: f"{m[1]}{numbers.setdefault(m[2], len(numbers))}",
        svg,
    )
