"""The Ray engine: many processes, on this machine or on a cluster."""

from __future__ import annotations

import importlib.util
import logging
import os
import shutil
import socket
import sys
import tempfile
import time
import uuid
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

import torch

from headscope.engine.backlog import Backlog
from headscope.engine.executor import ENGINES, Executor, Item, Job, Packed
from headscope.engine.executors.ray_worker import Refusal, Worker
from headscope.engine.progress import Progress
from headscope.errors import HeadscopeError, UsageError

#: Items a worker has at a time: one it works on, one that waits, so that it is never idle.
_PER_WORKER = 2
#: Items, per worker, that may be finished before the first unfinished one.
_AHEAD = 8
#: Workers that may die over one item, or before they begin.
_MOST_TRIES = 4
#: Room for what is on its way between processes; Ray would take a third of the memory.
_STORE_BYTES = 200 * 2**20
#: Seconds until an address counts as silent, and until nobody will come to work.
_CONNECT_SECONDS, _START_SECONDS = 5.0, 600.0


@dataclass(eq=False)
class _Hired:
    """A worker, its process once it has greeted, and the items it has, oldest first."""

    actor: Any
    greeting: Any
    pid: int = 0
    tasks: deque[tuple[Any, Item]] = field(default_factory=deque)

    @property
    def expected(self) -> list[Any]:
        return [self.greeting] if not self.pid else [task for task, _ in self.tasks]

    def finished(self, task: Any) -> Item:
        item = next(one for known, one in self.tasks if known == task)
        self.tasks = deque(pair for pair in self.tasks if pair[0] != task)
        return item


@ENGINES.register("ray")
class RayExecutor(Executor):
    """Workers that each load the model once, and are replaced when they die.

    Without an address a cluster of this machine's processes is started, on loopback, and ended
    again. A worker's items go to another one when it dies; an item over which several die is
    refused. The results are those of every other engine: the function is pure, and every worker
    computes with the same number of threads.
    """

    name: ClassVar[str] = "ray"

    def __init__(
        self,
        address: str | None = None,
        workers: int | None = None,
        threads: int | None = None,
        device: str = "cpu",
    ) -> None:
        if importlib.util.find_spec("ray") is None:
            raise UsageError("--engine ray needs the ray package: pip install 'headscope[ray]'")
        if workers is not None and workers < 1:
            raise UsageError(f"--workers {workers}: expected 1 or more")
        self.address, self.device = address, device
        self.workers, self.threads = workers or 0, threads or 0
        if address is None:
            cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
            self.workers = self.workers or max(1, cores // (threads or 1))
            self.threads = self.threads or max(1, cores // self.workers)
        else:
            self.threads = self.threads or torch.get_num_threads()
            _reach(address)
        self.n_lost = 0
        self._gpus = 0
        self._hired: list[_Hired] = []
        self._told: tuple[Job, str, Any] | None = None
        self._began = False
        self._folder: str | None = None

    def told(self) -> dict[str, Any]:
        return {"name": self.name, "workers": self.workers, "threads": self.threads}

    @property
    def pids(self) -> list[int]:
        """The processes that work now, on whatever machine."""
        return [hired.pid for hired in self._hired if hired.pid]

    # --- life -----------------------------------------------------------------------------------

    def _ray(self, n_bytes: int) -> Any:
        """Ray itself, connected, with workers counted; started here if there is no address."""
        import ray

        if not ray.is_initialized():
            logging.getLogger("ray").setLevel(logging.ERROR)
            # a busy machine may need longer than the half minute that Ray gives its own parts
            for tries_left in (0,) if self.address else (2, 1, 0):
                try:
                    ray.init(log_to_driver=False, configure_logging=False, **self._where(n_bytes))
                    break
                except Exception as error:  # whatever any of Ray's parts raises
                    self.close()
                    if not tries_left:
                        where = f"at {self.address}" if self.address else "on this machine"
                        reason = (str(error).splitlines() or [type(error).__name__])[0]
                        raise UsageError(f"cannot use Ray {where}: {reason}") from error
        self._count(ray)
        return ray

    def _where(self, n_bytes: int) -> dict[str, Any]:
        """What Ray is told: the address, or what a cluster of this machine is to be."""
        self._began = True
        if self.address is not None:
            return {"address": self.address}
        # a short path: Unix sockets lie in it, and their names are at most 107 bytes
        self._folder = tempfile.mkdtemp(prefix="hs-ray-", dir=_short_folder())
        return {
            "address": "local",
            "num_cpus": self.workers * self.threads,
            "include_dashboard": False,
            "object_store_memory": max(_STORE_BYTES, 2 * n_bytes),
            "_temp_dir": self._folder,
        }

    def _count(self, ray: Any) -> None:
        """How many workers there shall be, if nobody said, and whether there is room for them."""
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        has_gpus = any(node.get("GPU", 0) >= 1 for node in nodes)
        self._gpus = int(self.device.startswith("cuda") or (self.device == "auto" and has_gpus))
        room = 0
        for node in nodes:
            by_threads = int(node.get("CPU", 0)) // self.threads
            room += min(by_threads, int(node.get("GPU", 0))) if self._gpus else by_threads
        if room < max(1, self.workers):
            each = f"{self.threads} threads" + (" and a GPU" if self._gpus else "")
            raise UsageError(
                f"--workers {self.workers or 1}: the Ray cluster has room for {room} workers with "
                f"{each} each; ask for fewer --workers or --threads"
            )
        self.workers = self.workers or room

    def close(self) -> None:
        if self._hired or self._began:
            import ray

            for hired in self._hired:
                ray.kill(hired.actor)
            if self._began:
                ray.shutdown()
        self._hired, self._told, self._began = [], None, False
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    # --- work -----------------------------------------------------------------------------------

    def map(
        self, job: Job, items: Iterable[Item], progress: Progress
    ) -> Iterator[tuple[int, Packed]]:
        source = iter(items)
        first = next(source, None)
        if first is None:  # nobody is called for nothing
            return
        _before_import(self.address)
        ray, key, payload = self._telling(job)
        lost = (
            ray.exceptions.RayActorError,
            ray.exceptions.WorkerCrashedError,
            ray.exceptions.NodeDiedError,
            ray.exceptions.ObjectLostError,
            ray.exceptions.OutOfMemoryError,
        )
        backlog = Backlog(
            chain([first], source), ahead=_AHEAD * self.workers, most_tries=_MOST_TRIES
        )
        started = time.monotonic()
        n_stillborn = 0
        try:
            while True:
                self._fill(backlog, key, payload, ray)
                if backlog.finished:
                    return
                expected = [task for hired in self._hired for task in hired.expected]
                done, _ = ray.wait(expected, num_returns=1, timeout=5.0)
                if not done:
                    self._still_waiting(started)
                    continue
                hired = next(h for h in self._hired if done[0] in h.expected)
                try:
                    found = ray.get(done[0])
                except lost as death:
                    n_stillborn = 0 if hired.pid else n_stillborn + 1
                    self._bury(hired, backlog, death, n_stillborn, ray)
                    continue
                if not hired.pid:
                    hired.pid = found.pid
                    found.check()
                    continue
                item = hired.finished(done[0])
                if isinstance(found, Refusal):
                    raise found.error()
                backlog.done(item)
                progress.advance(item.size, item.n_sequences)
                yield item.index, found
        finally:
            # nobody waits any more for what a worker may still be doing
            for hired in [h for h in self._hired if h.tasks]:
                ray.kill(hired.actor)
                self._hired.remove(hired)

    def _telling(self, job: Job) -> tuple[Any, str, list[Any]]:
        """Ray, and the job as workers get it: by reference, in a list so that Ray leaves it one."""
        import ray
        from ray import cloudpickle

        if self._told is None or self._told[0] is not job:
            _by_value(cloudpickle)
            content: bytes = cloudpickle.dumps(job)  # type: ignore[no-untyped-call]
            self._ray(len(content))
            self._told = (job, uuid.uuid4().hex, ray.put(content))
        return ray, self._told[1], [self._told[2]]

    def _fill(self, backlog: Backlog, key: str, payload: list[Any], ray: Any) -> None:
        """Give every worker what it may have, and hire while there is work for more."""
        for n_tasks in range(_PER_WORKER):
            for hired in self._hired:
                if hired.pid and len(hired.tasks) == n_tasks and (item := backlog.take()):
                    task = hired.actor.run.remote(key, payload, item.work)
                    hired.tasks.append((task, item))
        while len(self._hired) < self.workers and not backlog.finished:
            kind = ray.remote(num_cpus=self.threads, num_gpus=self._gpus, max_restarts=0)(Worker)
            actor = kind.remote(self.threads)
            self._hired.append(_Hired(actor, actor.greet.remote()))

    def _bury(
        self, hired: _Hired, backlog: Backlog, death: Exception, n_stillborn: int, ray: Any
    ) -> None:
        """A worker is gone: its items go back, and `_fill` hires another."""
        reason = (str(death).splitlines() or [type(death).__name__])[0]
        self._hired.remove(hired)
        with suppress(Exception):
            ray.kill(hired.actor)
        self.n_lost += 1
        if n_stillborn >= _MOST_TRIES:
            raise HeadscopeError(f"no worker of the Ray cluster can begin: {reason}")
        backlog.put_back([item for _, item in hired.tasks], reason)
        hired.tasks.clear()

    def _still_waiting(self, started: float) -> None:
        if not self.pids and time.monotonic() - started > _START_SECONDS:
            raise HeadscopeError(
                f"no worker of the Ray cluster came to work in {_START_SECONDS:.0f} seconds: are "
                f"its {self.workers} × {self.threads} cores taken?"
            )


def _before_import(address: str | None) -> None:
    """What Ray reads from the environment when it is imported."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if address is None:
        # these processes are the command itself: they wait no longer than it would
        os.environ.setdefault("RAY_worker_niceness", "0")
        os.environ.setdefault("RAY_agent_register_timeout_ms", "180000")
    if address is None and "ray" not in sys.modules:
        # Ray's own switch for "this machine only": then it listens on loopback alone
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")


def _reach(address: str) -> None:
    """Refuse at once an address at which nobody answers; Ray itself tries for a minute."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon:
        if address not in ("auto", "local"):
            raise UsageError(f"--address {address}: expected HOST:PORT, ray://HOST:PORT or auto")
        return
    if not port.isdecimal() or not 0 < int(port) < 65536:
        raise UsageError(f"--address {address}: {port!r} is no port; expected HOST:PORT")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _CONNECT_SECONDS).close()
    except OSError as error:
        reason = error.strerror or str(error)
        raise UsageError(f"--address {address}: no Ray cluster answers there ({reason})") from None


def _short_folder() -> str | None:
    """/tmp where the usual folder for temporary files has a long name."""
    return "/tmp" if len(tempfile.gettempdir()) > 20 and Path("/tmp").is_dir() else None


def _by_value(cloudpickle: Any) -> None:
    """Roles of a user's file live in a module that no worker could import: send it along."""
    for name, module in list(sys.modules.items()):
        if name.startswith("headscope_roles_"):
            cloudpickle.register_pickle_by_value(module)
