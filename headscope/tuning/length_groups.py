"""The order in which examples are seen: random, but with examples of about one length together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from torch.utils.data import Sampler

#: Batches that are sorted by length together.
_N_TOGETHER = 50


class LengthGroups(Sampler[int]):
    """Random order, sorted by length within groups of 50 batches, the batches shuffled again.

    Padding is wasted work; this spares most of it and keeps batches random. The order depends on
    the seed and the epoch alone, so that a resumed training sees what an uninterrupted one does.

    >>> order = LengthGroups([1, 9, 1, 9], batch_size=2, seed=0)
    >>> sorted(order) == [0, 1, 2, 3], len(order)
    (True, 4)
    """

    def __init__(self, lengths: Sequence[int], batch_size: int, seed: int) -> None:
        self._lengths = np.asarray(lengths)
        self._batch_size, self._seed, self._epoch = batch_size, seed, 0

    def set_epoch(self, epoch: int) -> None:
        """Called by the loader before every epoch."""
        self._epoch = epoch

    def __len__(self) -> int:
        return len(self._lengths)

    def __iter__(self) -> Iterator[int]:
        random = np.random.default_rng((self._seed, self._epoch))
        order = random.permutation(len(self._lengths))
        size = self._batch_size * _N_TOGETHER
        groups = [order[i : i + size] for i in range(0, len(order), size)]
        groups = [g[np.argsort(self._lengths[g], kind="stable")] for g in groups]
        order = np.concatenate(groups)
        n_full = len(order) // self._batch_size
        # only whole batches change places: a short one must stay the last
        whole = order[: n_full * self._batch_size].reshape(n_full, self._batch_size)
        rest = order[n_full * self._batch_size :]
        yield from (int(i) for i in np.concatenate([random.permutation(whole).ravel(), rest]))
