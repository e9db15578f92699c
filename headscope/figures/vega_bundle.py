"""Vega, Vega-Lite and Vega-Embed as one script, made once per machine."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import os
import tempfile
from pathlib import Path

import platformdirs

from headscope.figures.image import vega_lite_version

_SNIPPET = "window.vegaEmbed = vegaEmbed;"


@functools.cache
def vega_bundle() -> str:
    """The script, made by vl-convert without the network.

    Making it takes as long as drawing half a report, and it is the same every time: it is kept in
    the user's cache folder under the versions it is made of, with its digest as the first line. A
    file that does not match its digest is made again; where nothing can be kept, nothing is.
    """
    path = _place()
    if (kept := _read(path)) is not None:
        return kept
    import vl_convert

    made: str = vl_convert.javascript_bundle(_SNIPPET, vl_version=vega_lite_version())
    _write(path, made)
    return made


def _place() -> Path:
    versions = f"{importlib.metadata.version('vl-convert-python')}-{vega_lite_version()}"
    return platformdirs.user_cache_path("headscope") / f"vega-{versions}.js"


def _read(path: Path) -> str | None:
    try:
        first, _, script = path.read_bytes().decode().partition("\n")
    except (OSError, UnicodeDecodeError):
        return None
    return script if first == _digest(script) else None


def _write(path: Path, script: str) -> None:
    """Whole or not at all; two processes may write at once."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, fresh = tempfile.mkstemp(dir=path.parent, prefix=path.name)
        with os.fdopen(handle, "wb") as file:
            file.write(f"{_digest(script)}\n{script}".encode())
        Path(fresh).replace(path)
    except OSError:
        return


def _digest(script: str) -> str:
    return hashlib.sha256(script.encode()).hexdigest()
