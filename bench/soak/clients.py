"""People at the explorer: each looks at something, thinks a while, looks at the next thing."""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any

TEXT = (
    "the cat sat on a mat while rain fell over old roofs and nobody in town could say why seven "
    "lamps were lit before noon or who had left the garden gate open"
)

QUERIES = (
    "select layer, head, mean from surface where target = 'prev' order by mean desc limit 5",
    "select target, avg(mean) from surface group by target",
    "select count(*) from parser",
    "select * from entropy order by mean_nats limit 20",
)


@dataclass(frozen=True)
class Asked:
    """One request: when, what, how long it took, how it ended (0: no answer at all)."""

    time: float
    kind: str
    milliseconds: float
    status: int


class Client(threading.Thread):
    """One person, with one connection that is opened again whenever it was let go."""

    def __init__(
        self, number: int, port: int, pause: float, told: SimpleQueue[Asked], end: threading.Event
    ) -> None:
        super().__init__(daemon=True, name=f"client {number}")
        self._random = random.Random(number)
        self._port, self._pause, self._told, self._end = port, pause, told, end
        self._connection: http.client.HTTPConnection | None = None
        self._run, self._key = "", ""

    def run(self) -> None:
        kinds: dict[str, Callable[[], None]] = {
            "home": lambda: self._get("home", "/"),
            "runs": self._runs,
            "atlas": lambda: self._get("atlas", f"/run/{self._run}"),
            "tables": lambda: self._get("tables", f"/api/runs/{self._run}/tables"),
            "sql": self._sql,
            "sentences": self._sentences,
            "read": self._read,
            "map": self._map,
            "pictures": self._pictures,
        }
        weights = (2, 4, 2, 3, 4, 3, 3, 6, 3)
        names = list(kinds)
        while not self._end.wait(self._random.expovariate(1 / self._pause)):
            name = self._random.choices(names, weights)[0]
            if not self._run:
                name = "runs"
            elif name in ("map", "pictures") and not self._key:
                name = "read"
            kinds[name]()

    def _runs(self) -> None:
        found = self._get("runs", "/api/runs")
        if found is not None:
            finished = [run["id"] for run in json.loads(found)["runs"] if "problem" not in run]
            self._run = self._random.choice(finished) if finished else ""

    def _sql(self) -> None:
        body = {"sql": self._random.choice(QUERIES)}
        self._ask("sql", "POST", f"/api/runs/{self._run}/query", body)

    def _sentences(self) -> None:
        head = f"{self._random.randint(1, 2)}-{self._random.randint(1, 4)}"
        self._get("sentences", f"/api/runs/{self._run}/sentences?head={head}")

    def _read(self) -> None:
        text = " ".join(self._random.choices(TEXT.split(), k=self._random.randint(200, 400)))
        edits = [{"edit": "zero", "heads": ["1-2"]}] if self._random.random() < 0.3 else []
        found = self._ask("read", "POST", "/api/live/read", {"text": text, "edits": edits})
        self._key = "" if found is None else json.loads(found)["key"]

    def _map(self) -> None:
        if self._get("map", f"/api/live/passes/{self._key}/map?head=2-3") is None:
            self._key = ""

    def _pictures(self) -> None:
        if self._get("pictures", f"/api/live/passes/{self._key}/pictures?layer=1") is None:
            self._key = ""

    def _get(self, kind: str, path: str) -> bytes | None:
        return self._ask(kind, "GET", path)

    def _ask(self, kind: str, method: str, path: str, body: Any = None) -> bytes | None:
        """The body of a good answer; None for any other, which is told all the same."""
        content = None if body is None else json.dumps(body).encode()
        headers = {} if content is None else {"Content-Type": "application/json"}
        for attempt in range(2):
            fresh = self._connection is None
            if self._connection is None:
                self._connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
            started = time.perf_counter()
            try:
                self._connection.request(method, path, content, headers)
                answer = self._connection.getresponse()
                found = answer.read()
            except (OSError, http.client.HTTPException):
                self._connection.close()
                self._connection = None
                if not fresh and attempt == 0:
                    continue  # an idle connection was let go: that is no fault
                self._told.put(Asked(time.time(), kind, float("nan"), 0))
                return None
            taken = 1000 * (time.perf_counter() - started)
            self._told.put(Asked(time.time(), kind, taken, answer.status))
            if answer.status == 404 and f"/{self._run}" in path:
                self._run = ""  # a run that went away meanwhile
            return found if answer.status == 200 else None
        return None
