"""What one request, one second and one client may cost."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """All bounds of the explorer in one place.

    Rates are requests per second with a burst in hand: of all requests, of passes of the model, of
    questions in SQL, and of wrong tokens.
    """

    body_bytes: int = 128 * 1024
    text_characters: int = 20_000
    sql_characters: int = 10_000
    sql_seconds: float = 5.0
    sql_rows: int = 1_000
    sql_answer_bytes: int = 4 * 1024 * 1024
    sql_memory_bytes: int = 3 * 1024**3
    sentences: int = 50
    runs: int = 500
    #: Live maps: tokens of a text, bytes of one text's maps, bytes of all that are kept.
    tokens: int = 512
    pass_bytes: int = 256 * 1024**2
    kept_bytes: int = 512 * 1024**2
    edited_heads: int = 2_000
    waiting: int = 8
    requests: tuple[float, int] = (100.0, 400)
    passes: tuple[float, int] = (4.0, 16)
    questions: tuple[float, int] = (4.0, 16)
    wrong_tokens: tuple[float, int] = (0.5, 10)
    #: Clients: open connections, seconds for a request's head, its body, and without any reading.
    connections: int = 128
    head_seconds: float = 10.0
    body_seconds: float = 15.0
    write_seconds: float = 20.0


class Bucket:
    """A rate with a burst in hand: `take` says whether one more is allowed now.

    >>> clock = iter([0.0, 0.0, 0.0, 0.5])
    >>> bucket = Bucket((2.0, 2), clock=lambda: next(clock))
    >>> [bucket.take() for _ in range(3)]
    [True, True, True]
    """

    def __init__(
        self, rate: tuple[float, int], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._per_second, self._burst = rate
        self._clock = clock
        self._left = float(self._burst)
        self._seen = clock()

    def take(self) -> bool:
        now = self._clock()
        self._left = min(float(self._burst), self._left + (now - self._seen) * self._per_second)
        self._seen = now
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True
