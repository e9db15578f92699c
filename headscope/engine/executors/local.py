"""The local engine: this process, item after item."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

import torch

from headscope.engine.executor import ENGINES, Executor, Item, Job, Packed
from headscope.engine.freed import hand_back
from headscope.engine.progress import Progress
from headscope.errors import UsageError


@ENGINES.register("local")
class LocalExecutor(Executor):
    """One process with all its threads."""

    name: ClassVar[str] = "local"

    def __init__(
        self,
        address: str | None = None,
        workers: int | None = None,
        threads: int | None = None,
        device: str = "cpu",
    ) -> None:
        if address is not None:
            raise UsageError(f"--address {address}: the local engine has none; add --engine ray")
        if workers not in (None, 1):
            raise UsageError(
                f"--workers {workers}: the local engine is one process; add --engine ray"
            )
        if threads is not None:
            torch.set_num_threads(threads)

    def map(
        self, job: Job, items: Iterable[Item], progress: Progress
    ) -> Iterator[tuple[int, Packed]]:
        for item in items:
            packed = job.run(item.work, progress.advance)
            hand_back()
            yield item.index, packed

    def close(self) -> None:
        """There is nobody to let go of."""

    def told(self) -> dict[str, Any]:
        return {"name": self.name, "threads": torch.get_num_threads()}
