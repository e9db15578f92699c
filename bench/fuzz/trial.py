"""One input, one reader: it reads, it refuses with an error of ours, or it is at fault."""

from __future__ import annotations

import random
import signal
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Literal

from bench.fuzz.targets import Target
from headscope.errors import HeadscopeError

#: Processor seconds after which an input counts as a hang; a usual one takes less than one
#: thousandth of that.
PATIENCE = 10.0

Verdict = Literal["read", "refused"]


class HangError(BaseException):
    """Too much time went by; nothing may catch this on the way."""


@contextmanager
def time_guard(seconds: float = PATIENCE) -> Iterator[None]:
    """Raise HangError once so much processor time has gone (where the system can)."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def ring(number: int, frame: FrameType | None) -> None:
        raise HangError

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


def tried(target: Target, content: bytes, folder: Path, rng: random.Random) -> Verdict:
    """What became of one input; anything but reading and refusing is raised."""
    with time_guard(), warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            target.read(content, folder, rng)
        except HeadscopeError as error:
            str(error).encode("utf-8", "surrogatepass")
            if len(str(error)) > 5000:
                raise AssertionError(f"a message of {len(str(error))} characters") from error
            return "refused"
    return "read"


def where(error: BaseException) -> str:
    """The kind of an error and its place in our code: what makes two faults the same."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if "/headscope/" in f.filename] or frames
    place = ours[-1]
    name = Path(place.filename).name
    return f"{type(error).__name__} in {name}:{place.lineno} {place.name}: {str(error)[:100]}"


def set_limits() -> None:
    """A file of a few kilobytes has no business with gigabytes of memory."""
    if sys.platform != "win32":
        import resource

        limit = 6 * 1024**3
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
