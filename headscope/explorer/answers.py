"""What goes back to the browser: JSON, bytes, and refusals in plain words."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, cast

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from headscope.errors import HeadscopeError
from headscope.explorer.limits import Limits


class Refused(HTTPException):
    """A request that is not answered, with the reason people read."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(status, reason)


def answer(content: Any, status: int = 200) -> Response:
    """JSON; numbers that JSON lacks become null."""
    text = json.dumps(_plain(content), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # a lone surrogate cannot be sent; the page shows a mark in its place
    return Response(text.encode("utf-8", "replace"), status, media_type="application/json")


def bytes_answer(content: bytes, told: Mapping[str, Any]) -> Response:
    """Raw numbers; what they are stands in one header."""
    header = json.dumps(told, separators=(",", ":"))
    return Response(content, media_type="application/octet-stream", headers={"X-Headscope": header})


async def read_object(request: Request, limits: Limits) -> dict[str, Any]:
    """The JSON object of a request; anything else, or anything too large, is refused."""
    if request.headers.get("content-type", "").split(";")[0].strip() != "application/json":
        raise Refused(415, "expected application/json")
    told = request.headers.get("content-length", "")
    if told.isdecimal() and int(told) > limits.body_bytes:
        raise Refused(413, f"more than {limits.body_bytes:,} bytes")
    body = b""
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > limits.body_bytes:
                raise Refused(413, f"more than {limits.body_bytes:,} bytes")
    except ClientDisconnect:
        raise Refused(400, "the client went away") from None
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        raise Refused(400, "expected JSON") from None
    if not isinstance(content, dict):
        raise Refused(400, "expected a JSON object")
    return content


def text_field(content: Mapping[str, Any], name: str, longest: int, default: str = "") -> str:
    """A text of an object, no longer than it may be."""
    value = content.get(name, default)
    if not isinstance(value, str):
        raise Refused(422, f"{name}: expected text")
    if len(value) > longest:
        raise Refused(413, f"{name}: {len(value):,} characters; at most {longest:,}")
    return value


async def on_refusal(request: Request, error: Exception) -> Response:
    """Refusals as JSON with one field, `error`."""
    refusal = cast("HTTPException", error)
    return answer({"error": refusal.detail}, refusal.status_code)


async def on_headscope_error(request: Request, error: Exception) -> Response:
    """What people can mend is told to them."""
    assert isinstance(error, HeadscopeError)
    return answer({"error": str(error)[:2000]}, 422)


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value if isinstance(value, str | int | bool | None) else str(value)
