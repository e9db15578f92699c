"""The explorer killed while people use it: what it acknowledged is kept, nothing runs on."""

from __future__ import annotations

import http.client
import json
import random
import shutil
import socket
import time
from pathlib import Path
from typing import Any

from bench.faults.child import cpu_seconds, run, start, wait
from bench.faults.commands import outcome
from bench.faults.kills import Tally
from bench.faults.subject import Subject
from bench.soak.watch import children

_CLASSES = ("vertical", "diagonal", "block", "heterogeneous")


def kill_serve(subject: Subject, folder: Path, rng: random.Random) -> Tally:
    """Serve, ask and label until killed; then look at the files, and serve again."""
    tally = Tally("serve")
    served, said = folder / "served", folder / "serve.txt"
    shutil.rmtree(served, ignore_errors=True)
    served.mkdir()
    shutil.copytree(subject.run, served / "run")
    before = outcome(served / "run")
    port = _free_port()
    line = ["serve", str(served), "--model", str(subject.model), "--port", str(port)]
    said.unlink(missing_ok=True)
    pid = start(line, said)
    given: dict[int, str] = {}
    asked: dict[int, str] = {}
    workers: list[int] = []
    try:
        _until_up(port, pid)
        moment = cpu_seconds(pid) + rng.uniform(0.0, 1.5)
        _begin(port, served)
        while cpu_seconds(pid) < moment:
            kind = rng.random()
            if kind < 0.5:
                index, label = rng.randrange(8), rng.choice(_CLASSES)
                asked[index] = label
                body = {"index": index, "label": label, "look": "label"}
                if _ask(port, "POST", "/api/labels/set", body)[0] == 200:
                    given[index] = label
            elif kind < 0.7:
                _ask(port, "POST", "/api/runs/run/query", {"sql": "select count(*) from surface"})
            elif kind < 0.9:
                _ask(
                    port,
                    "POST",
                    "/api/live/read",
                    {"text": "the cat saw a dog " * rng.randint(1, 6)},
                )
            else:
                _ask(port, "GET", "/run/run")
            workers = children(pid) or workers
    except (OSError, http.client.HTTPException, ValueError) as error:
        tally.check(False, f"it does not answer: {error!r}; {said.read_text()[-400:]}")
    ended = wait(pid, said, kill_at=0.0)
    tally.counts["killed"] += ended.code == -9
    tally.check(ended.code == -9, "it had ended by itself", ended)
    tally.counts["state: serving"] += 1
    tally.check(outcome(served / "run") == before, "the run that was served has changed")
    tally.check(not _alive(workers), "its SQL worker goes on without it")
    if (served / "set.json").is_file():
        kept = {
            i: one["label"]
            for i, one in enumerate(json.loads((served / "set.json").read_text())["labels"])
        }
        lost = [i for i, label in given.items() if kept.get(i) not in (label, asked.get(i))]
        tally.check(not lost, f"acknowledged labels were lost: {lost}")
        tally.counts["acknowledged labels kept"] += len(given)
    said.unlink()
    pid = start([*line[:-1], str(_free_port())], said)
    try:
        _until_up(int(_port_of(said, pid)), pid)
        tally.counts["went on to the same bytes"] += 1
    except (OSError, ValueError) as error:
        tally.check(False, f"it does not start again: {error!r}; {said.read_text()[-400:]}")
    wait(pid, said, kill_at=0.0)
    shutil.rmtree(served, ignore_errors=True)
    return tally


def reference_run(subject: Subject, folder: Path) -> None:
    """The finished run that other verbs add to and that is served."""
    from bench.faults.commands import commands

    ended = run(commands(subject)["analyze"].line(subject.run), folder / "said.txt")
    if ended.code != 0:
        raise RuntimeError(ended.said)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _until_up(port: int, pid: int) -> None:
    ends = time.monotonic() + 120
    while time.monotonic() < ends:
        try:
            _ask(port, "GET", "/api/runs")
            return
        except OSError:
            time.sleep(0.02)
    raise OSError("it does not listen")


def _port_of(said: Path, pid: int) -> str:
    ends = time.monotonic() + 120
    while time.monotonic() < ends:
        text = said.read_text() if said.exists() else ""
        if "http://" in text:
            return text.split("http://", 1)[1].split("/", 1)[0].rsplit(":", 1)[1]
        time.sleep(0.02)
    raise ValueError(f"it does not say where it is: {text}")


def _begin(port: int, served: Path) -> None:
    status, body = _ask(port, "POST", "/api/labels", {"name": "set", "n": 8})
    if status != 200:
        raise ValueError(f"no set of maps ({status}): {body!r}")


def _ask(port: int, method: str, path: str, body: Any = None) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        content = None if body is None else json.dumps(body).encode()
        headers = {} if content is None else {"Content-Type": "application/json"}
        connection.request(method, path, content, headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def _alive(pids: list[int]) -> bool:
    ends = time.monotonic() + 10
    while time.monotonic() < ends:
        if not any(Path(f"/proc/{pid}").exists() for pid in pids):
            return False
        time.sleep(0.05)
    return True
