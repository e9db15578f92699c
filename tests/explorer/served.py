"""An explorer that really listens, and plain ways to talk to it."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headscope.explorer.app import Explorer
from headscope.explorer.limits import Limits
from headscope.explorer.server import bound, server_for


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode("utf-8", "replace")

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Served:
    """A listening explorer."""

    port: int
    explorer: Explorer

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(
        self, path: str, method: str = "GET", body: Any = None, **headers: str | None
    ) -> Answer:
        """One request; header names with _ for -, None leaves one out."""
        content = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        sent = {"Host": f"127.0.0.1:{self.port}"}
        if content is not None:
            sent |= {"Content-Type": "application/json", "Content-Length": str(len(content))}
        for name, value in headers.items():
            key = name.replace("_", "-").title()
            sent.pop(key, None)
            if value is not None:
                sent[key] = value
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for key, value in sent.items():
                connection.putheader(key, value)
            connection.endheaders(content)
            found = connection.getresponse()
            told = {key.lower(): value for key, value in found.getheaders()}
            return Answer(found.status, told, found.read())
        finally:
            connection.close()

    def post(self, path: str, body: Any, **headers: str | None) -> Answer:
        return self.ask(path, "POST", body, **headers)

    def raw(self, content: bytes) -> socket.socket:
        """Bytes on the wire, whatever they are."""
        opened = socket.create_connection(("127.0.0.1", self.port), timeout=30)
        opened.sendall(content)
        return opened


@contextmanager
def serving(
    folder: Path, *, live: Any = None, limits: Limits | None = None, **options: Any
) -> Iterator[Served]:
    """Listen on a free port for as long as the block lasts."""
    with bound("127.0.0.1", 0) as listening:
        port = listening.getsockname()[1]
        explorer = Explorer(folder, live=live, port=port, limits=limits, **options)
        server = server_for(explorer, log_level="critical")
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            ends = time.monotonic() + 30
            while not server.started:
                assert time.monotonic() < ends, "the server does not start"
                time.sleep(0.01)
            yield Served(port, explorer)
        finally:
            server.should_exit = True
            thread.join(30)
            assert not thread.is_alive()
