"""What people see while they wait: a bar with sequences per second and an ETA."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

    from headscope.engine import Progress


@contextmanager
def shown_progress(quiet: bool = False) -> Iterator[Progress]:
    """A progress bar on standard error, or silence when nobody is at the terminal."""
    from headscope.engine import Silent

    if quiet or not sys.stderr.isatty():
        yield Silent()
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
