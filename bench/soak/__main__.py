"""`python -m bench.soak --minutes 120`: run, watch, judge, draw.

All that is seen is written down as it comes (`samples.jsonl`, `requests.jsonl`, `rounds.jsonl` in
the folder), so a soak that is ended early still tells what it saw: `--read FOLDER`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO, Any

from bench.soak.clients import Asked, Client
from bench.soak.verdict import judged
from bench.soak.watch import children, held

#: Seconds between two looks at the processes.
LOOK = 5.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=120.0)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--pause", type=float, default=6.0, help="seconds a client thinks, mean")
    parser.add_argument("--folder", type=Path, help="where the logs go; a temporary one if absent")
    parser.add_argument("--read", type=Path, help="only judge what a folder has")
    parser.add_argument("--picture", type=Path, help="draw the curves to this file")
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended early"))  # both processes end with us
    if asked.read is None:
        folder = asked.folder or Path(tempfile.mkdtemp(prefix="soak-"))
        folder.mkdir(parents=True, exist_ok=True)
        soak(folder, asked.minutes, asked.clients, asked.pause)
    else:
        folder = asked.read
    lines = judged(folder)
    for line in lines:
        print(line)
    if asked.picture is not None:
        from bench.soak.picture import draw

        draw(folder, asked.picture)
    return int(any(not line.holds for line in lines))


def soak(folder: Path, minutes: float, n_clients: int, pause: float) -> None:
    """Start both, ask, look, and end both."""
    from bench.soak.subject import write_model

    model, runs = folder / "model", folder / "runs"
    for old in (model, runs):
        shutil.rmtree(old, ignore_errors=True)
    runs.mkdir()
    write_model(model)
    environment = {**os.environ, "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}
    with (
        (folder / "rounds.jsonl").open("w") as rounds_log,
        (folder / "samples.jsonl").open("w") as samples,
        (folder / "requests.jsonl").open("w") as requests,
        (folder / "serve.log").open("w") as serve_log,
        (folder / "rounds.log").open("w") as rounds_errors,
    ):
        rounds = subprocess.Popen(
            [sys.executable, "-m", "bench.soak.rounds", model, runs, folder],
            stdout=rounds_log, stderr=rounds_errors, env=environment,
        )  # fmt: skip
        serve = subprocess.Popen(
            [sys.executable, "-m", "headscope", "serve", runs, "--model", model, "--port", "0"],
            stdout=subprocess.PIPE, stderr=serve_log, text=True, env=environment,
        )  # fmt: skip
        end = threading.Event()
        told: SimpleQueue[Asked] = SimpleQueue()
        try:
            assert serve.stdout is not None
            port = int(serve.stdout.readline().strip().rstrip("/").rsplit(":", 1)[1])
            for number in range(n_clients):
                Client(number, port, pause, told, end).start()
            until = time.monotonic() + 60 * minutes
            while time.monotonic() < until:
                time.sleep(LOOK)
                _look(samples, {"serve": serve.pid, "analyze": rounds.pid})
                _keep(requests, told)
                for name, process in (("serve", serve), ("analyze", rounds)):
                    if process.poll() is not None:
                        raise SystemExit(f"{name} has ended by itself ({process.returncode})")
        finally:
            end.set()
            for process in (serve, rounds):
                process.send_signal(signal.SIGINT)
            for process in (serve, rounds):
                try:
                    process.wait(30)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
            _keep(requests, told)


def _look(samples: IO[str], processes: dict[str, int]) -> None:
    now = time.time()
    found = dict(processes)
    for child in children(processes["serve"]):
        found["sql worker"] = child
    for name, pid in found.items():
        seen = held(pid)
        if seen is not None:
            _line(samples, {"time": now, "process": name, **vars(seen)})
    samples.flush()


def _keep(requests: IO[str], told: SimpleQueue[Asked]) -> None:
    while True:
        try:
            _line(requests, vars(told.get_nowait()))
        except Empty:
            break
    requests.flush()


def _line(file: IO[str], fields: dict[str, Any]) -> None:
    file.write(json.dumps(fields) + "\n")


if __name__ == "__main__":
    sys.exit(main())
