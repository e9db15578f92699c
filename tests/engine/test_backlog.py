"""The queue behind an engine: bounded, in order, and nothing lost with a worker is lost."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from headscope.engine.backlog import Backlog
from headscope.engine.executor import Item, in_order
from headscope.errors import HeadscopeError


def test_every_item_is_done_once_whatever_happens_to_workers() -> None:
    rng = random.Random(0)
    for _ in range(50):
        n, ahead = rng.randint(0, 40), rng.randint(1, 9)
        backlog = Backlog((Item(i, None, 1) for i in range(n)), ahead=ahead, most_tries=10**6)
        out: list[Item] = []
        finished: list[int] = []
        while not backlog.finished:
            item = backlog.take() if rng.random() < 0.6 else None
            if item is not None:
                out.append(item)
                oldest = next(i for i in range(n) if i not in finished)
                assert item.index < oldest + ahead
            elif out and rng.random() < 0.3:  # someone dies with up to two items
                lost = [out.pop(rng.randrange(len(out))) for _ in range(min(2, len(out)))]
                backlog.put_back(lost, "killed")
            elif out:
                done = out.pop(rng.randrange(len(out)))
                backlog.done(done)
                finished.append(done.index)
        assert sorted(finished) == list(range(n))


def test_the_source_is_read_only_as_far_as_needed() -> None:
    read = 0

    def source() -> Iterator[Item]:
        nonlocal read
        for i in range(1000):
            read += 1
            yield Item(i, None, 1)

    backlog = Backlog(source(), ahead=4, most_tries=2)
    taken = [backlog.take() for _ in range(20)]
    assert [item.index for item in taken if item] == [0, 1, 2, 3]
    assert read == 4


def test_an_item_that_kills_its_workers_is_to_blame() -> None:
    backlog = Backlog([Item(7, None, 1), Item(8, None, 1)], ahead=4, most_tries=3)
    for _ in range(2):
        items = [backlog.take(), backlog.take()]
        assert [i.index for i in items if i] == [7, 8]
        backlog.put_back([i for i in items if i], "killed by signal 9")
    items = [backlog.take(), backlog.take()]
    with pytest.raises(HeadscopeError, match=r"shard 7 took down 3 workers.*signal 9.*--resume"):
        backlog.put_back([i for i in items if i], "killed by signal 9")


def test_results_in_order() -> None:
    rng = random.Random(1)
    numbers = list(range(30))
    shuffled = rng.sample(numbers, 30)
    results = [(i, ({}, {"n": i})) for i in shuffled]
    assert [told["n"] for _, told in in_order(results, numbers)] == numbers
