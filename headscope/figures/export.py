"""A figure as an image file: PNG, SVG or PDF."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from headscope.errors import UsageError
from headscope.figures.image import FORMATS
from headscope.figures.registered import RunLike, draw


def export_figure(run: RunLike, name: str, path: str | Path) -> Path:
    """Write one figure of a run; the suffix of `path` says how. Returns the path written.

    Images are for paper: light, on white. The file appears whole or not at all.
    """
    path = Path(path)
    convert = FORMATS.get(path.suffix.lower())
    if convert is None:
        known = ", ".join(FORMATS)
        found = path.suffix or "no suffix"
        raise UsageError(f"{path}: cannot write a figure as {found}; expected one of {known}")
    image = convert(draw(run, name).themed("paper"))
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as to:
        to.write(image)
    Path(to.name).chmod(0o644)
    os.replace(to.name, path)  # noqa: PTH105 - atomic on the same file system
    return path
