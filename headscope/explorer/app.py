"""All parts of the explorer as one ASGI application."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headscope.errors import HeadscopeError
from headscope.explorer.answers import answer, on_headscope_error, on_refusal
from headscope.explorer.folder import Folder
from headscope.explorer.gate import Gate, host_check
from headscope.explorer.labels import LabelRoutes
from headscope.explorer.limits import Limits
from headscope.explorer.pages import STATIC, page
from headscope.explorer.runs import RunRoutes
from headscope.explorer.texts import Texts
from headscope.figures import PageLinks
from headscope.figures.atlas.plain_text import plain_text
from headscope.store import Run

if TYPE_CHECKING:
    from headscope.explorer.live.passes import LiveModel


class Explorer:
    """A folder of runs, perhaps a model, and the application over them."""

    def __init__(
        self,
        folder: str | Path,
        *,
        live: LiveModel | None = None,
        corpora: Iterable[str | Path] = (),
        host: str = "127.0.0.1",
        port: int = 0,
        token: str | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.limits = limits or Limits()
        self.folder = Folder.at(folder, self.limits.runs)
        self.live, self.host, self.port, self.token = live, host, port, token
        self.runs = RunRoutes(self.folder, self.limits, Texts(corpora), self.links)
        self.labels = LabelRoutes(self.folder, self.limits, live)

    def app(self) -> Starlette:
        """The application; requests go through the gate first."""
        gate = Middleware(
            Gate,
            good_host=host_check(self.host, self.port),
            token=self.token,
            limits=self.limits,
        )
        return Starlette(
            routes=self._routes(),
            middleware=[gate],
            exception_handlers={
                HTTPException: on_refusal,
                HeadscopeError: on_headscope_error,
                Exception: _on_fault,
            },
            lifespan=self._life,
        )

    @asynccontextmanager
    async def _life(self, app: Starlette) -> AsyncIterator[None]:
        yield
        await self.runs.sql.close()

    def _routes(self) -> list[Route]:
        live: list[Route] = []
        if self.live is not None:
            from headscope.explorer.live.routes import LiveRoutes

            live = LiveRoutes(self.live).routes()
        return [
            Route("/", self._home),
            Route("/live", self._live_page),
            Route("/label", self._label_page),
            Route("/run/{run}/tables", self._run_page("tables")),
            Route("/run/{run}/sentences", self._run_page("sentences")),
            STATIC,
            *self.runs.routes(),
            *self.labels.routes(),
            *live,
        ]

    async def _home(self, request: Request) -> Response:
        return page("home", **self._common(), folder=plain_text(str(self.folder.root), 200))

    async def _live_page(self, request: Request) -> Response:
        return page("live", **self._common())

    async def _label_page(self, request: Request) -> Response:
        return page("label", **self._common())

    def _run_page(self, name: str) -> Any:
        async def show(request: Request) -> Response:
            run = await self.runs.run(request.path_params["run"])
            told = {"run_id": request.path_params["run"], "title": plain_text(run.path.name, 80)}
            model = plain_text(run.record.model.name, 120)
            live = self._fits(run)
            return page(name, **self._common(), **told, model=model, live_fits=live)

        return show

    def _common(self) -> dict[str, Any]:
        name = None if self.live is None else plain_text(self.live.loaded.name, 120)
        return {"live_model": name}

    def links(self, run: Run) -> PageLinks:
        """What the page of a run leads to."""
        id_ = next((f.id for f in self.folder.runs().values() if f.path == run.path), "")
        base = f"/run/{id_}"
        heads = [("Sentences", f"{base}/sentences#/head=")]
        if self._fits(run):
            heads.append(("Live attention", "/live#/head="))
        return PageLinks(
            pages=(
                ("All runs", "/"),
                ("Atlas", base),
                ("Figures", f"{base}/report"),
                ("Tables", f"{base}/tables"),
                ("Sentences", f"{base}/sentences"),
                *((("Live attention", "/live"),) if self.live is not None else ()),
            ),
            heads=tuple(heads),
        )

    def _fits(self, run: Run) -> bool:
        """Whether the loaded model has the run's heads."""
        if self.live is None:
            return False
        mine = {s.stack: (s.n_layers, max(s.n_heads)) for s in self.live.loaded.layout.stacks}
        theirs = {s.stack: (s.n_layers, s.n_heads) for s in run.record.model.stacks}
        return mine == theirs


async def _on_fault(request: Request, error: Exception) -> Response:
    return answer({"error": "something went wrong here; the terminal says more"}, 500)
