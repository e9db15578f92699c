"""Rows and simple statistics that claims are judged by."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from headscope.stats import wilson_interval
from headscope.studies.claim import Labelled, NoDataError, Verdict

Row = dict[str, Any]


def rows(one: Labelled, table: str, **wanted: Any) -> list[Row]:
    """The rows of a table with these values; a table that is not there or empty is no data."""
    if table not in one.run.tables:
        skipped = {s.name: s.reason for s in one.run.record.skipped}
        why = next((f": {reason}" for name, reason in skipped.items() if name in table), "")
        raise NoDataError(f"no table {table} here{why}")
    found = [
        row
        for row in one.run.table(table).to_pylist()
        if all(row[name] == value for name, value in wanted.items())
    ]
    if not found:
        what = ", ".join(str(value) for value in wanted.values())
        raise NoDataError(f"no rows about {what or table} here")
    return found


def head(row: Row) -> str:
    """A head as people name it.

    >>> head({"layer": 7, "head": 9})
    '8-10'
    """
    return f"{row['layer'] + 1}-{row['head'] + 1}"


def by_layer(found: Sequence[Row], value: str) -> list[float]:
    """The mean over the heads of every layer.

    >>> by_layer([{"layer": 0, "x": 1.0}, {"layer": 0, "x": 3.0}, {"layer": 1, "x": 5.0}], "x")
    [2.0, 5.0]
    """
    layers = sorted({row["layer"] for row in found})
    return [mean([row[value] for row in found if row["layer"] == layer]) for layer in layers]


def mean(values: Sequence[float]) -> float:
    """The mean of the values that are there; NaN of none."""
    known = [v for v in values if not math.isnan(v)]
    return sum(known) / len(known) if known else math.nan


def share_interval(k: int, n: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share."""
    if not n:
        return math.nan, math.nan
    low, high = wilson_interval(k, n)
    return float(low), float(high)


def spearman_interval(x: Sequence[float], y: Sequence[float]) -> tuple[float, float, float, int]:
    """Spearman's correlation with its interval by Fisher's transformation, and how many pairs."""
    from scipy.stats import spearmanr

    a, b = np.asarray(x, float), np.asarray(y, float)
    known = ~np.isnan(a) & ~np.isnan(b)
    n = int(known.sum())
    if n < 4 or np.ptp(a[known]) == 0 or np.ptp(b[known]) == 0:
        return math.nan, math.nan, math.nan, n
    r = float(spearmanr(a[known], b[known]).statistic)
    # Bonett & Wright's standard error of the transformed rank correlation
    width = 1.96 * math.sqrt((1 + r * r / 2) / (n - 3))
    z = math.atanh(max(-0.999999, min(0.999999, r)))
    return r, math.tanh(z - width), math.tanh(z + width), n


def percent(value: float, digits: int = 1) -> str:
    """A share for people.

    >>> percent(0.8684)
    '86.8 %'
    """
    return "–" if math.isnan(value) else f"{100 * value:.{digits}f} %"


def listed(pairs: Sequence[tuple[str, str]]) -> str:
    """What was found run by run, with labels where there are several.

    >>> listed([("MRPC", "2 %"), ("QQP", "3 %")])
    'MRPC 2 %, QQP 3 %'
    """
    if len(pairs) == 1:
        return pairs[0][1]
    return ", ".join(f"{label} {text}" for label, text in pairs)


def above(low: float, high: float, limit: float) -> Verdict:
    """Whether an interval lies above a limit; one that holds the limit cannot tell.

    >>> above(0.6, 0.8, 0.5), above(0.2, 0.4, 0.5), above(0.4, 0.6, 0.5)
    ('holds', 'does not hold', 'cannot tell')
    """
    if low > limit:
        return "holds"
    return "does not hold" if high <= limit else "cannot tell"


def below(low: float, high: float, limit: float) -> Verdict:
    """Whether an interval lies below a limit; one that holds the limit cannot tell.

    >>> below(0.1, 0.2, 0.5), below(0.6, 0.7, 0.5)
    ('holds', 'does not hold')
    """
    return above(-high, -low, -limit)


def yes(holds: bool) -> Verdict:
    """The verdict of a rule without an interval."""
    return "holds" if holds else "does not hold"


def weakest(*verdicts: Verdict) -> Verdict:
    """The verdict of a rule with several parts: all must hold, and one that does not decides.

    >>> weakest("holds", "cannot tell"), weakest("cannot tell", "does not hold")
    ('cannot tell', 'does not hold')
    """
    if "does not hold" in verdicts:
        return "does not hold"
    return "cannot tell" if "cannot tell" in verdicts else "holds"


def together(verdicts: Sequence[Verdict], most: float = 0.5) -> Verdict:
    """One verdict for several runs: what more than `most` of those that can tell say.

    >>> together(["holds", "holds", "does not hold"]), together(["cannot tell"])
    ('holds', 'cannot tell')
    """
    told = [v for v in verdicts if v != "cannot tell"]
    if not told:
        return "cannot tell"
    return yes(sum(v == "holds" for v in told) > most * len(told))
