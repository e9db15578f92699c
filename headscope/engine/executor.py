"""What an engine is: it runs one pure function over many items, wherever its workers are.

The function is an object that holds what it needs (a model, the measures) and can be pickled: a
`LoadedModel` travels as the recipe to load it, so every worker loads it once. What it returns for
an item is what the item's checkpoint holds: named arrays and JSON. To add an engine, write one
file in `headscope/engine/executors`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any, ClassVar, Protocol, Self, TypeAlias

from headscope.engine.progress import Progress
from headscope.registry import Registry
from headscope.values.value import Arrays

#: What a shard becomes: the arrays and the metadata of its checkpoint.
Packed: TypeAlias = tuple[Arrays, dict[str, Any]]

#: Hears of work that is done: how much, and of how many sequences.
Advance: TypeAlias = Callable[[int, int], None]


@dataclass(frozen=True)
class Item:
    """One piece of work; `size` is how far the progress bar moves for it."""

    index: int
    work: Any
    size: int
    n_sequences: int = 0


class Job(Protocol):
    """A pure function with what it needs: the same item gives the same bits on every worker."""

    def run(self, work: Any, advance: Advance) -> Packed:
        """What an item becomes."""


class Executor(ABC):
    """Runs jobs. Open it in a with block; whoever it started is gone after it.

    All engines are made from the same four words of the command line: the `address` of a cluster,
    the number of `workers`, the `threads` of each, and the `device` they compute on.
    """

    name: ClassVar[str]

    @abstractmethod
    def __init__(
        self,
        address: str | None = None,
        workers: int | None = None,
        threads: int | None = None,
        device: str = "cpu",
    ) -> None:
        """Find out what is wrong with the words, before any work."""

    @abstractmethod
    def map(
        self, job: Job, items: Iterable[Item], progress: Progress
    ) -> Iterator[tuple[int, Packed]]:
        """The result of every item with its index, as soon as it is there.

        Items are taken from the iterator only as workers become free, and no result is more than a
        fixed number of items ahead of the first that is missing: nothing piles up.
        """

    @abstractmethod
    def told(self) -> dict[str, Any]:
        """What run.json says about how it was computed."""

    @abstractmethod
    def close(self) -> None:
        """Let go of all workers."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


ENGINES: Registry[type[Executor]] = Registry("engine", "headscope.engine.executors")


def in_order(results: Iterable[tuple[int, Packed]], indices: Iterable[int]) -> Iterator[Packed]:
    """Results in the order of `indices`, each as soon as those before it are there.

    >>> list(in_order([(2, ({}, {"n": 2})), (0, ({}, {"n": 0}))], [0, 2]))
    [({}, {'n': 0}), ({}, {'n': 2})]
    """
    waiting: dict[int, Packed] = {}
    wanted = iter(indices)
    following = next(wanted, None)
    for index, packed in results:
        waiting[index] = packed
        while following is not None and following in waiting:
            yield waiting.pop(following)
            following = next(wanted, None)
