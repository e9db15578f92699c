"""A figure as an image file: PNG, SVG or PDF, without a browser and without the network."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from headscope.errors import UsageError
from headscope.figures.registered import RunLike, draw

#: PNG pixels per CSS pixel: sharp in print at the figure's own size.
_SCALE: Final = 3


def _svg(spec: dict[str, Any]) -> bytes:
    import vl_convert

    text: str = vl_convert.vegalite_to_svg(
        spec, vl_version=vega_lite_version(), allowed_base_urls=[]
    )
    return _renumbered(text).encode()


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


def _png(spec: dict[str, Any]) -> bytes:
    import vl_convert

    image: bytes = vl_convert.vegalite_to_png(
        spec, vl_version=vega_lite_version(), scale=_SCALE, allowed_base_urls=[]
    )
    return image


def _pdf(spec: dict[str, Any]) -> bytes:
    import vl_convert

    page: bytes = vl_convert.vegalite_to_pdf(
        spec, vl_version=vega_lite_version(), allowed_base_urls=[]
    )
    return page


_FORMATS: Final[dict[str, Callable[[dict[str, Any]], bytes]]] = {
    ".png": _png,
    ".svg": _svg,
    ".pdf": _pdf,
}


def vega_lite_version() -> str:
    """The Vega-Lite that Altair writes for, as vl-convert names it ("6.4")."""
    import altair

    return ".".join(altair.SCHEMA_VERSION.removeprefix("v").split(".")[:2])


def export_figure(run: RunLike, name: str, path: str | Path) -> Path:
    """Write one figure of a run; the suffix of `path` says how. Returns the path written.

    Images are for paper: light, on white. The file appears whole or not at all.
    """
    path = Path(path)
    convert = _FORMATS.get(path.suffix.lower())
    if convert is None:
        known = ", ".join(_FORMATS)
        found = path.suffix or "no suffix"
        raise UsageError(f"{path}: cannot write a figure as {found}; expected one of {known}")
    spec = draw(run, name).themed("light")
    spec["config"] = {**spec["config"], "background": "#ffffff", "padding": 16}
    image = convert(spec)
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as to:
        to.write(image)
    Path(to.name).chmod(0o644)
    os.replace(to.name, path)  # noqa: PTH105 - atomic on the same file system
    return path
