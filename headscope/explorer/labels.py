"""Labelling over HTTP: one map after another, two looks, agreement."""

from __future__ import annotations

import random
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
from anyio import to_thread
from numpy.typing import NDArray
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headscope.explorer.answers import Refused, answer, bytes_answer, read_object, text_field
from headscope.explorer.folder import Folder, Found
from headscope.explorer.limits import Limits

if TYPE_CHECKING:
    from headscope.explorer.live.passes import LiveModel
    from headscope.measures.patterns.labelled_maps import LabelledMaps

_LOOKS = ("label", "second")
_MOST_MAPS = 500


class LabelRoutes:
    """The label files of a folder; they are what `headscope patterns train --labels` reads.

    A file is read anew for every change and written whole, one change at a time, so two people can
    label at once: one gives the label, the other the second, blind look.
    """

    def __init__(self, folder: Folder, limits: Limits, live: LiveModel | None) -> None:
        self._folder, self._limits, self._live = folder, limits, live
        self._turn = threading.Lock()

    def routes(self) -> list[Route]:
        return [
            Route("/api/labels", self.listed),
            Route("/api/labels", self.begin, methods=["POST"]),
            Route("/api/labels/{set}", self.one),
            Route("/api/labels/{set}", self.label, methods=["POST"]),
            Route("/api/labels/{set}/maps/{index:int}", self.map),
        ]

    async def listed(self, request: Request) -> Response:
        def sets() -> list[dict[str, Any]]:
            found = self._folder.label_sets().values()
            return [{"id": one.id, "file": one.path.name} for one in found]

        can_begin = self._live is not None
        return answer({"sets": await to_thread.run_sync(sets), "can_begin": can_begin})

    async def one(self, request: Request) -> Response:
        found, look = await self._found(request), _look(request.query_params.get("look"))

        def told() -> dict[str, Any]:
            from headscope.measures.patterns.classes import CLASSES

            maps = _load(found)
            given = [getattr(one, look) for one in maps.labels]
            todo = [i for i, label in enumerate(given) if label is None]
            if look == "second":  # in an order that tells nothing
                random.Random(found.id).shuffle(todo)
            return {
                "id": found.id,
                "file": found.path.name,
                "look": look,
                "classes": [c._asdict() for c in CLASSES],
                "maps": [
                    {"model": m.model, "layer": m.layer + 1, "head": m.head + 1, "n": m.n_tokens}
                    for m in maps.labels
                ],
                "given": given,
                "todo": todo,
                "agreement": agreement(maps),
            }

        return answer(await to_thread.run_sync(told))

    async def map(self, request: Request) -> Response:
        found, index = await self._found(request), request.path_params["index"]
        maps = await to_thread.run_sync(_load, found)
        if index >= len(maps):
            raise Refused(404, "no such map")
        pattern = maps.maps[index]
        told = {
            "queries": len(pattern),
            "keys": len(pattern),
            "first": 0,
            "last": len(pattern),
            "rulers": _rulers(pattern),
        }
        return bytes_answer(np.ascontiguousarray(pattern, dtype="<f2").tobytes(), told)

    async def label(self, request: Request) -> Response:
        from headscope.measures.patterns.classes import PATTERNS

        found = await self._found(request)
        asked = await read_object(request, self._limits)
        look, index, label = _look(asked.get("look")), asked.get("index"), asked.get("label")
        if not isinstance(index, int) or isinstance(index, bool):
            raise Refused(422, "index: expected a whole number")
        if label is not None and label not in PATTERNS:
            raise Refused(422, f"label: expected one of {', '.join(PATTERNS)}")

        def change() -> dict[str, Any]:
            from headscope.measures.patterns.labelled_maps import save_labels

            with self._turn:
                maps = _load(found)
                if not 0 <= index < len(maps):
                    raise Refused(404, "no such map")
                changed = maps.labelled(index, label, look)
                save_labels(found.path, changed.labels)
            n_given = sum(getattr(one, look) is not None for one in changed.labels)
            return {"n_given": n_given, "n": len(changed), "agreement": agreement(changed)}

        return answer(await to_thread.run_sync(change))

    async def begin(self, request: Request) -> Response:
        """A new set: maps of the loaded model over the shipped passages."""
        asked = await read_object(request, self._limits)
        name, n = text_field(asked, "name", 80), asked.get("n", 100)
        if self._live is None:
            raise Refused(422, "maps are drawn from a model: start with --model")
        if not isinstance(n, int) or isinstance(n, bool) or not 1 <= n <= _MOST_MAPS:
            raise Refused(422, f"n: expected a whole number up to {_MOST_MAPS}")
        path = self._folder.new_label_file(name)
        live = self._live

        def draw() -> dict[str, Any]:
            from headscope.corpora import shipped_corpus
            from headscope.measures.patterns.labelled_maps import save_maps
            from headscope.measures.patterns.sampling import candidates, draw_evenly

            texts = random.Random(name).sample(list(shipped_corpus().sequences()), 10)
            drawn = draw_evenly(list(candidates(live.loaded, texts)), n, seed=0, per_head=n)
            with self._turn:
                save_maps(self._folder.new_label_file(name), drawn)
            return {"file": path.name, "n": len(drawn)}

        return answer(await live.alone(draw))

    async def _found(self, request: Request) -> Found:
        sets = await to_thread.run_sync(self._folder.label_sets)
        found = sets.get(request.path_params["set"])
        if found is None:
            raise Refused(404, "no such set of maps")
        return found


def agreement(maps: LabelledMaps) -> dict[str, Any] | None:
    """How far two looks agree: share, Cohen's kappa, and which shapes were taken for which."""
    from headscope.measures.patterns.classes import PATTERNS
    from headscope.measures.patterns.evaluation import cohens_kappa, second_look

    found = second_look(maps.only())
    if found is None:
        return None
    with np.errstate(invalid="ignore", divide="ignore"):
        kappa = cohens_kappa(found.confusion)
    return {
        "n": int(found.confusion.sum()),
        "share": found.accuracy,
        "kappa": kappa,
        "confusion": found.confusion.tolist(),
        "classes": list(PATTERNS),
    }


def _rulers(pattern: NDArray[np.float32]) -> dict[str, Any]:
    """How far columns and diagonals stand out, for the bars beside the map."""
    from headscope.measures.patterns.rulers import LIMIT, rulers

    def plain(values: NDArray[np.float32]) -> list[float | None]:
        return [None if np.isnan(one) else round(float(one), 3) for one in values]

    found = rulers(pattern)
    return {
        "columns": plain(found.columns),
        "offsets": found.offsets.tolist(),
        "diagonals": plain(found.diagonals),
        "limit": LIMIT,
    }


def _load(found: Found) -> LabelledMaps:
    from headscope.measures.patterns.labelled_maps import load_maps

    return load_maps(found.path)


def _look(asked: Any) -> str:
    if asked in (None, ""):
        return "label"
    if asked not in _LOOKS:
        raise Refused(422, f"look: expected one of {', '.join(_LOOKS)}")
    return str(asked)
