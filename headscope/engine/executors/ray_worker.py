"""What runs in a worker of the Ray engine."""

from __future__ import annotations

import os
import pickle
import socket
from dataclasses import dataclass
from typing import Any

import torch

from headscope import errors
from headscope.engine.executor import Job, Packed
from headscope.engine.freed import hand_back
from headscope.errors import HeadscopeError, InputError, UsageError
from headscope.store import library_versions
from headscope.version import __version__


@dataclass(frozen=True)
class Refusal:
    """An error of ours on its way home: what kind it is, and what it says."""

    kind: str
    message: str

    @classmethod
    def of(cls, error: HeadscopeError) -> Refusal:
        return cls(type(error).__name__, str(error))

    def error(self) -> HeadscopeError:
        """The same error here; one that cannot be made from its message alone is a plain one.

        >>> Refusal("ModelError", "no such folder").error()
        ModelError('no such folder')
        """
        kind = getattr(errors, self.kind, HeadscopeError)
        simple = isinstance(kind, type) and issubclass(kind, HeadscopeError)
        return kind(self.message) if simple and kind is not InputError else _told(self.message)


def versions() -> dict[str, str]:
    """What the numbers depend on."""
    return {"headscope": __version__, **library_versions()}


@dataclass(frozen=True)
class Greeting:
    """A worker's first words."""

    pid: int
    host: str
    versions: dict[str, str]

    def check(self) -> None:
        """Refuse a worker whose numbers could be others than those computed here."""
        here = versions()
        for name in sorted(here.keys() | self.versions.keys()):
            ours, theirs = here.get(name, "absent"), self.versions.get(name, "absent")
            if ours != theirs:
                raise UsageError(
                    f"--engine ray: {name} is {theirs} on {self.host} and {ours} here; expected "
                    "the same versions on all machines"
                )


def _told(message: str) -> HeadscopeError:
    return HeadscopeError(message)


class Worker:
    """A process that holds the latest job: its model is loaded with the first item."""

    def __init__(self, threads: int) -> None:
        torch.set_num_threads(threads)
        self._key = ""
        self._job: Job | None = None

    def greet(self) -> Greeting:
        """Say that the process is there, and what it computes with."""
        return Greeting(os.getpid(), socket.gethostname(), versions())

    def run(self, key: str, payload: list[Any], work: Any) -> Packed | Refusal:
        """What an item becomes. `payload` is a reference: it is fetched when the job is new."""
        try:
            if key != self._key or self._job is None:
                import ray

                self._job, self._key = None, ""  # let go of one model before loading another
                self._job = pickle.loads(ray.get(payload[0]))
                self._key = key
            return self._job.run(work, lambda n, n_sequences: None)
        except HeadscopeError as error:
            return Refusal.of(error)
        finally:
            hand_back()
