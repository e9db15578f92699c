"""Live attention over HTTP: read a text, then fetch only what is seen."""

from __future__ import annotations

from typing import Any

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headscope.explorer.answers import Refused, answer, bytes_answer, read_object, text_field
from headscope.explorer.limits import Bucket
from headscope.explorer.live.changes import changes
from headscope.explorer.live.maps import rows_of, small_pictures
from headscope.explorer.live.passes import LiveModel, Pass
from headscope.explorer.live.reading import described
from headscope.types import STACKS, HeadId


class LiveRoutes:
    """The answers of one loaded model."""

    def __init__(self, live: LiveModel) -> None:
        self.live = live
        self._passes = Bucket(live.limits.passes)
        self._waiting = 0

    def routes(self) -> list[Route]:
        return [
            Route("/api/live", self.model),
            Route("/api/live/read", self.read, methods=["POST"]),
            Route("/api/live/passes/{key}/map", self.map),
            Route("/api/live/passes/{key}/pictures", self.pictures),
            Route("/api/live/passes/{key}/changes", self.changes),
        ]

    async def model(self, request: Request) -> Response:
        return answer(self.live.describe())

    async def read(self, request: Request) -> Response:
        limits = self.live.limits
        asked = await read_object(request, limits)
        text = text_field(asked, "text", limits.text_characters)
        pair = text_field(asked, "pair", limits.text_characters)
        edits = asked.get("edits", [])
        if not isinstance(edits, list):
            raise Refused(422, "edits: expected a list")
        if not self._passes.take():
            raise Refused(429, "the model reads a few texts a second; wait a moment")
        if self._waiting >= limits.waiting:
            raise Refused(503, "others are waiting for the model; try again")
        self._waiting += 1
        try:
            found = await self.live.alone(self.live.read, text, pair, edits)
        finally:
            self._waiting -= 1
        return answer(told(found, self.live))

    async def map(self, request: Request) -> Response:
        found = self._found(request)
        head = HeadId.parse(request.query_params.get("head", ""))
        last = request.query_params.get("last")
        content, about = rows_of(
            found,
            head,
            _whole(request, "first", 0),
            None if last is None else _whole(request, "last", 0),
        )
        return bytes_answer(content, about)

    async def pictures(self, request: Request) -> Response:
        found = self._found(request)
        asked = request.query_params.get("stack", "self")
        stack = next((s for s in STACKS if s == asked), None)
        if stack is None:
            raise Refused(422, "stack: no such stack")
        layer = _whole(request, "layer", 1) - 1
        content, about = await to_thread.run_sync(small_pictures, found, stack, layer)
        return bytes_answer(content, about)

    async def changes(self, request: Request) -> Response:
        after = self._found(request)
        before = self._kept(request.query_params.get("from", ""))
        return answer(await to_thread.run_sync(changes, before, after))

    def _found(self, request: Request) -> Pass:
        return self._kept(request.path_params["key"])

    def _kept(self, key: str) -> Pass:
        found = self.live.find(key)
        if found is None:
            raise Refused(410, "this reading is no longer kept; read the text again")
        return found


def told(found: Pass, live: LiveModel) -> dict[str, Any]:
    """A pass for the page: everything but its maps."""
    encoded, tokenizer = found.encoded, live.loaded.tokenizer
    return {
        "key": found.key,
        "source": described(encoded, tokenizer),
        "target": None if encoded.target is None else described(encoded.target, tokenizer),
        "prediction": found.prediction,
        "seconds": round(found.seconds, 4),
    }


def _whole(request: Request, name: str, default: int) -> int:
    value = request.query_params.get(name, str(default))
    if not value.isascii() or not value.isdecimal() or len(value) > 9:
        raise Refused(422, f"{name}: expected a whole number")
    return int(value)
