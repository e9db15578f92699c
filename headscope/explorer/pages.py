"""The pages of the explorer and what they are made of: templates, one style sheet, modules."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping
from importlib import resources
from typing import Any

import jinja2
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from headscope.explorer.answers import Refused
from headscope.figures import theme
from headscope.version import __version__

_TYPES = {".js": "text/javascript", ".css": "text/css"}


@functools.cache
def static_files() -> Mapping[str, bytes]:
    """Every script and the style sheet, read once: no request ever names a path."""
    here = resources.files("headscope.explorer") / "page"
    found = {
        one.name: one.read_bytes() for one in here.iterdir() if one.name.endswith((".js", ".css"))
    }
    look = resources.files("headscope.figures") / "templates"
    parts = [theme.css().encode(), *((look / n).read_bytes() for n in ("report.css", "atlas.css"))]
    found["style.css"] = b"\n".join([*parts, found["explorer.css"]])
    return found


@functools.cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.PackageLoader("headscope.explorer", "page"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def page(name: str, **fields: Any) -> Response:
    """A page by the name of its template."""
    return HTMLResponse(rendered(name, page=name, **fields))


def rendered(name: str, **fields: Any) -> str:
    """A template filled in; everything but markup is escaped."""
    return _environment().get_template(f"{name}.html.j2").render(version=__version__, **fields)


async def static(request: Request) -> Response:
    """A script or the style sheet; a browser asks again only when it changed."""
    name = request.path_params["name"]
    content = static_files().get(name)
    if content is None:
        raise Refused(404, "no such file")
    tag = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=_TYPES[name[name.rindex(".") :]], headers=headers)


STATIC = Route("/static/{name}", static)
