"""Runs over HTTP: the list, the atlas of each, several compared, SQL, sentences."""

from __future__ import annotations

import asyncio
import re
from collections import OrderedDict
from collections.abc import Callable
from html import unescape
from typing import Any

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from headscope.explorer.answers import Refused, answer, read_object, text_field
from headscope.explorer.folder import Folder, described
from headscope.explorer.limits import Bucket, Limits
from headscope.explorer.sentences import sentences_of, wanted_of
from headscope.explorer.sql import Sql
from headscope.explorer.texts import Texts
from headscope.figures import PageLinks, render_atlas, render_report
from headscope.store import Run
from headscope.types import HeadId

_POLICY = re.compile(r'http-equiv="Content-Security-Policy" content="([^"]*)"')
_PAGES = 8
_MOST_COMPARED = 4


class RunRoutes:
    """What can be asked of the runs in a folder."""

    def __init__(
        self, folder: Folder, limits: Limits, texts: Texts, links: Callable[[Run], PageLinks]
    ) -> None:
        self._folder, self._limits, self._texts, self._links = folder, limits, texts, links
        self.sql = Sql(limits)
        self._questions = Bucket(limits.questions)
        self._pages: OrderedDict[Any, str] = OrderedDict()
        self._drawing = asyncio.Lock()

    def routes(self) -> list[Route]:
        return [
            Route("/api/runs", self.listed),
            Route("/api/runs/{run}/tables", self.tables),
            Route("/api/runs/{run}/query", self.query, methods=["POST"]),
            Route("/api/runs/{run}/sentences", self.sentences),
            Route("/run/{run}", self.atlas),
            Route("/run/{run}/report", self.report),
            Route("/compare/{runs}", self.compare),
        ]

    async def listed(self, request: Request) -> Response:
        found = await to_thread.run_sync(
            lambda: [described(one) for one in self._folder.runs().values()]
        )
        return answer({"runs": found})

    async def tables(self, request: Request) -> Response:
        run = await self.run(request.path_params["run"])
        return answer({"tables": await to_thread.run_sync(_columns, run)})

    async def query(self, request: Request) -> Response:
        run = await self.run(request.path_params["run"])
        asked = await read_object(request, self._limits)
        sql = text_field(asked, "sql", self._limits.sql_characters)
        if not self._questions.take():
            raise Refused(429, "a few questions a second; wait a moment")
        return answer(await self.sql.ask(run, sql))

    async def sentences(self, request: Request) -> Response:
        run = await self.run(request.path_params["run"])
        head = HeadId.parse(request.query_params.get("head", ""))
        key = request.query_params.get("what", "")[:200]

        def find() -> dict[str, Any]:
            wanted = wanted_of(run, head)
            chosen = key or (wanted[0].key if wanted else "")
            texts = self._texts.of(run)
            found = sentences_of(run, head, chosen, self._limits.sentences, texts)
            return {
                "head": str(head),
                "what": chosen,
                "wanted": [one.to_dict() for one in wanted],
                "sentences": found,
                "texts": bool(texts),
            }

        return answer(await to_thread.run_sync(find))

    async def atlas(self, request: Request) -> Response:
        run = await self.run(request.path_params["run"])
        return await self._page("atlas", [run])

    async def report(self, request: Request) -> Response:
        run = await self.run(request.path_params["run"])
        return await self._page("report", [run])

    async def compare(self, request: Request) -> Response:
        ids = request.path_params["runs"].split(",")
        if not 2 <= len(set(ids)) <= _MOST_COMPARED:
            raise Refused(422, f"compare two to {_MOST_COMPARED} different runs")
        return await self._page("atlas", [await self.run(one) for one in dict.fromkeys(ids)])

    async def run(self, id_: str) -> Run:
        run = await to_thread.run_sync(self._folder.run, id_)
        if run is None:
            raise Refused(404, "no such run")
        return run

    async def _page(self, kind: str, runs: list[Run]) -> Response:
        """Drawn here, from the tables: a page that lies in a run's folder may be anyone's."""
        key = (kind, *((run.path, _changed(run)) for run in runs))
        async with self._drawing:  # one at a time, and each page once
            page = self._pages.get(key)
            if page is None:
                draw = render_atlas if kind == "atlas" else render_report
                links = self._links(runs[0])
                page = await to_thread.run_sync(lambda: draw(runs, links=links))
                self._pages[key] = page
                while len(self._pages) > _PAGES:
                    self._pages.popitem(last=False)
        found = _POLICY.search(page)
        assert found is not None
        policy = f"{unescape(found[1])}; frame-ancestors 'none'"
        return HTMLResponse(page, headers={"Content-Security-Policy": policy})


def _changed(run: Run) -> tuple[tuple[str, int], ...]:
    """When each table was written, so that a page is drawn anew when one is added."""
    folder = run.path / "tables"
    return tuple((name, (folder / f"{name}.parquet").stat().st_mtime_ns) for name in run.tables)


def _columns(run: Run) -> list[dict[str, Any]]:
    import pyarrow.parquet as pq

    told = []
    for name in run.tables:
        file = pq.ParquetFile(run.path / "tables" / f"{name}.parquet")
        with file:
            columns = [[field.name, str(field.type)] for field in file.schema_arrow]
            told.append({"name": name, "n_rows": file.metadata.num_rows, "columns": columns})
    return told
