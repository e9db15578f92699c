"""What people see while they wait: a bar with sequences per second and an ETA."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

    from headscope.engine import Progress


@contextmanager
def shown_progress(quiet: bool = False) -> Iterator[Progress]:
    """A progress bar on standard error; in a log, a line every half minute."""
    if quiet:
        from headscope.engine import Silent

        yield Silent()
        return
    if not sys.stderr.isatty():
        yield Lines(sys.stderr)
        return
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        yield _Stages(bar)


class _Stages:
    """The stages of a pass as tasks of one rich bar."""

    def __init__(self, bar: Bar) -> None:
        self._bar = bar
        self._task = bar.add_task("Starting", total=None, rate="")
        self._n_sequences = 0

    def stage(self, title: str, total: int | None = None) -> None:
        self._bar.remove_task(self._task)
        self._task = self._bar.add_task(title, total=total, rate="")
        self._n_sequences = 0

    def advance(self, n: int, n_sequences: int = 0) -> None:
        self._n_sequences += n_sequences
        task = next(t for t in self._bar.tasks if t.id == self._task)
        rate = ""
        if self._n_sequences and task.elapsed:
            rate = f"{self._n_sequences / task.elapsed:,.0f} sequences/s"
        self._bar.update(self._task, advance=n, rate=rate)


class Lines:
    """The stages of a pass as lines of a log, none in the first `every` seconds.

    >>> ticks = iter([0.0, 0.0, 10.0, 40.0])
    >>> log = Lines(sys.stdout, clock=lambda: next(ticks))
    >>> log.stage("Reading", total=80)
    >>> log.advance(10)
    >>> log.advance(10)
    Reading: 25 %, about 0:02:00 left
    """

    def __init__(
        self, log: TextIO, every: float = 30.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._log, self._every, self._clock = log, every, clock
        self._last_said = clock()
        self._title, self._done, self._began = "Starting", 0, self._last_said
        self._total: int | None = None

    def stage(self, title: str, total: int | None = None) -> None:
        self._title, self._total, self._done, self._began = title, total, 0, self._clock()

    def advance(self, n: int, n_sequences: int = 0) -> None:
        self._done += n
        now = self._clock()
        if now - self._last_said < self._every:
            return
        self._last_said = now
        said = f"{self._title}: {self._done:,} done"
        if self._total and self._done:
            left = (now - self._began) * (self._total - self._done) / self._done
            said = f"{self._title}: {self._done / self._total:.0%}".replace("%", " %")
            said += f", about {timedelta(seconds=round(left))} left"
        print(said, file=self._log, flush=True)
