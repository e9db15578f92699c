"""Numbers in sentences: shares as percent, intervals, counts, lists. NaN reads "no data"."""

from __future__ import annotations

import math
from collections.abc import Sequence

NO_DATA = "no data"
NO_INTERVAL = "no interval"


def percent(share: float) -> str:
    """A share in percent.

    >>> percent(0.8423), percent(float("nan"))
    ('84.2 %', 'no data')
    """
    return NO_DATA if math.isnan(share) else f"{share * 100:.1f} %"


def nats(amount: float) -> str:
    """An entropy with its unit.

    >>> nats(2.3456)
    '2.35 nats'
    """
    return NO_DATA if math.isnan(amount) else f"{amount:.2f} nats"


def share_interval(low: float, high: float) -> str:
    """The two ends of an interval of shares.

    >>> share_interval(0.831, 0.8534)
    '83.1–85.3 %'
    """
    known = not (math.isnan(low) or math.isnan(high))
    return f"{low * 100:.1f}–{high * 100:.1f} %" if known else NO_INTERVAL


def amount_interval(low: float, high: float) -> str:
    """The two ends of an interval in the unit named beside it.

    >>> amount_interval(2.301, 2.399)
    '2.30–2.40'
    """
    known = not (math.isnan(low) or math.isnan(high))
    return f"{low:.2f}–{high:.2f}" if known else NO_INTERVAL


def support(interval: str, n_sequences: int) -> str:
    """What stands behind a number; one sequence has no interval.

    >>> support("83.1–85.3 %", 500)
    '95 % interval 83.1–85.3 %, n = 500 sequences'
    >>> support(NO_INTERVAL, 1)
    'no interval, n = 1 sequence'
    """
    known = interval if interval == NO_INTERVAL else f"95 % interval {interval}"
    return f"{known}, n = {plural(n_sequences, 'sequence')}"


def probability(name: str, value: float) -> str:
    """A p-value or q-value as papers print it.

    >>> probability("p", 0.00002), probability("q", 0.0312)
    ('p < 0.001', 'q = 0.031')
    """
    if math.isnan(value):
        return f"{name} unknown"
    return f"{name} < 0.001" if value < 0.001 else f"{name} = {value:.3f}"


def count(n: float) -> str:
    """A count with separators.

    >>> count(12345)
    '12,345'
    """
    return f"{n:,.0f}"


def plural(n: int, noun: str, many: str = "") -> str:
    """A counted noun.

    >>> plural(1, "head"), plural(1200, "head")
    ('1 head', '1,200 heads')
    """
    return f"{count(n)} {noun if n == 1 else many or noun + 's'}"


def listed(items: Sequence[str]) -> str:
    """Items as English lists them.

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def capital(text: str) -> str:
    """The text with its first letter large."""
    return text[:1].upper() + text[1:]
