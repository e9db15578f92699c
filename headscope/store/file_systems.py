"""Files anywhere: on this disk, in an object store, on whatever pyarrow or fsspec can reach."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast
from urllib.parse import urlencode

import pyarrow as pa
from pyarrow import fs as pa_fs

# Two letters at least: "C:/runs" is a drive. One slash will do: a `Path` merges two into one.
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/+(.*)", re.DOTALL)


def as_url(place: str | Path) -> str | None:
    """The URL that a place is, or None where it is a path of this machine.

    >>> as_url("s3://bucket/run"), as_url(Path("s3://bucket/run")), as_url("C:/run"), as_url("run")
    ('s3://bucket/run', 's3://bucket/run', None, None)
    """
    match = _URL.fullmatch(str(place))
    if match is None:
        return None
    scheme, rest = match[1].lower(), match[2]
    return f"{scheme}:///{rest}" if scheme == "file" else f"{scheme}://{rest}"


def file_system(url: str) -> tuple[pa_fs.FileSystem, str]:
    """The file system of a URL and the path in it; OSError says why there is none.

    pyarrow's own are tried first (s3, gs, abfs, hdfs, file), then fsspec's. S3 keys, region and
    the address of a server that is not Amazon's come from the usual places (`AWS_ENDPOINT_URL`).
    """
    try:
        found: tuple[pa_fs.FileSystem, str] = pa_fs.FileSystem.from_uri(_with_endpoint(url))
        return found
    except pa.ArrowInvalid as error:
        refused = error
    import fsspec

    try:
        system, path = fsspec.core.url_to_fs(url)
    except (ImportError, ValueError, OSError):
        raise OSError(str(refused).splitlines()[0]) from None
    return pa_fs.PyFileSystem(pa_fs.FSSpecHandler(system)), path


def _with_endpoint(url: str) -> str:
    """An S3 URL with the server that the environment names; pyarrow does not look there."""
    server = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    if not server or not url.startswith("s3://") or "endpoint_override=" in url:
        return url
    scheme, _, host = server.rpartition("://")
    options = urlencode({"endpoint_override": host.rstrip("/"), "scheme": scheme or "https"})
    return f"{url}{'&' if '?' in url else '?'}{options}"


@contextmanager
def opened(url: str) -> Iterator[IO[bytes]]:
    """The bytes of a file at a URL, as a stream; OSError where it cannot be read."""
    try:
        system, path = file_system(url)
        with system.open_input_stream(path, compression=None) as stream:
            yield io.BufferedReader(cast("Any", stream), 2**20)
    except pa.ArrowException as error:
        raise OSError(str(error).splitlines()[0]) from error
