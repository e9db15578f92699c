"""Which item is to be begun next: a queue that reads ahead only so far, and takes items back."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator

from headscope.engine.executor import Item
from headscope.errors import HeadscopeError


class Backlog:
    """Items yet to do.

    They are taken from their source only when someone asks, in order, and none is begun that is
    `ahead` or more places behind the oldest unfinished one. What was lost with a worker is begun
    again first; an item that was lost `most_tries` times is an error.

    >>> backlog = Backlog([Item(n, None, 1) for n in range(4)], ahead=2, most_tries=2)
    >>> first, second = backlog.take(), backlog.take()
    >>> backlog.take() is None          # two are on their way already
    True
    >>> backlog.put_back([second], "a worker died")
    >>> backlog.done(first); backlog.take().index, backlog.take().index
    (1, 2)
    """

    def __init__(self, items: Iterable[Item], *, ahead: int, most_tries: int) -> None:
        self._source: Iterator[Item] = iter(items)
        self._ahead, self._most_tries = ahead, most_tries
        self._lost: deque[Item] = deque()
        self._open: dict[int, int] = {}  # the place of every unfinished item, oldest first
        self._n_begun = 0
        self._ended = False
        self._tries: Counter[int] = Counter()

    @property
    def finished(self) -> bool:
        """Whether every item of the source is done; known once the source has been asked."""
        return self._ended and not self._open

    def take(self) -> Item | None:
        """The next item, or None where nothing may be begun now."""
        if self._lost:
            return self._lost.popleft()
        oldest = next(iter(self._open.values()), self._n_begun)
        if self._ended or self._n_begun - oldest >= self._ahead:
            return None
        item = next(self._source, None)
        if item is None:
            self._ended = True
            return None
        self._open[item.index] = self._n_begun
        self._n_begun += 1
        return item

    def done(self, item: Item) -> None:
        """An item is finished."""
        del self._open[item.index]

    def put_back(self, items: Iterable[Item], reason: str) -> None:
        """Items whose worker is gone, oldest first: it died over that one."""
        lost = list(items)
        if lost:
            self._tries[lost[0].index] += 1
            if self._tries[lost[0].index] >= self._most_tries:
                raise HeadscopeError(
                    f"shard {lost[0].index} took down {self._most_tries} workers, the last one "
                    f"so: {reason}; what is finished is kept, and --resume goes on"
                )
        self._lost.extendleft(reversed(lost))
