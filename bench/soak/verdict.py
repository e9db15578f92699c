"""Does anything creep up? Slopes over the whole time, after a while to warm up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import theilslopes

from bench.ratio import Line

#: The share of the time in which caches may still fill.
WARM_UP = 0.35
#: Answers of these kinds are refusals by a stated rule (rates, readings no longer kept, runs gone).
_REFUSALS = (404, 410, 429, 503)


def lines_of(path: Path) -> list[dict[str, Any]]:
    """The rows of a log; a last line that was cut off is left out."""
    rows = []
    for line in path.read_text().splitlines():
        try:
            rows.append(json.loads(line))
        except ValueError:
            continue
    return rows


def growth(times: ArrayLike, values: ArrayLike) -> float:
    """What a straight line through the values gains from first to last, as a factor.

    The line is Theil and Sen's: the median slope between any two points (of at most 400), so that
    single peaks do not tilt it. 1.0 is flat.

    >>> round(growth([0, 1, 2, 3], [100, 101, 102, 103]), 3)
    1.03
    """
    x, y = np.asarray(times, float), np.asarray(values, float)
    if len(x) > 400:
        parts = np.array_split(np.arange(len(x)), 400)
        x, y = (np.array([np.median(v[p]) for p in parts]) for v in (x, y))
    slope, intercept, *_ = theilslopes(y, x)
    first, last = intercept + slope * x[0], intercept + slope * x[-1]
    return float(last / first)


def risen(times: ArrayLike, values: ArrayLike) -> float:
    """The median of the last third of the time over that of the first: for what jumps about."""
    x, y = np.asarray(times, float), np.asarray(values, float)
    first, last = np.quantile(x, [1 / 3, 2 / 3])
    return float(np.median(y[x >= last]) / np.median(y[x <= first]))


def judged(folder: Path) -> list[Line]:
    """The lines of a soak: growth of memory, handles and latency, and answers that failed."""
    samples, requests = lines_of(folder / "samples.jsonl"), lines_of(folder / "requests.jsonl")
    rounds = lines_of(folder / "rounds.jsonl")
    start, stop = samples[0]["time"], samples[-1]["time"]
    warm = start + WARM_UP * (stop - start)
    minutes = (stop - start) / 60
    found = [Line(f"minutes watched, {len(requests):,} requests", minutes, float("inf"))]
    for process in dict.fromkeys(s["process"] for s in samples):
        mine = [s for s in samples if s["process"] == process and s["time"] >= warm]
        times = [s["time"] for s in mine]
        for field, what, target in (
            ("mebibytes", "memory", 1.05),
            ("n_files", "open files", 1.05),
            ("n_threads", "threads", 1.05),
        ):
            values = [s[field] for s in mine]
            detail = f" (median {np.median(values):,.0f}, largest {max(values):,.0f})"
            name = f"{process}: growth of {what} after the warm-up"
            found.append(Line(name, growth(times, values), target, detail))
    good = [r for r in requests if r["status"] == 200 and r["time"] >= warm]
    for kind in dict.fromkeys(r["kind"] for r in good):
        mine = [r for r in good if r["kind"] == kind]
        taken = [r["milliseconds"] for r in mine]
        middle, late = np.percentile(taken, [50, 95])
        detail = f" (median {middle:.1f} ms, 95 % within {late:.0f} ms, n = {len(taken):,})"
        rate = risen([r["time"] for r in mine], taken)
        name = f"serve: latency of {kind}, last third / first third"
        found.append(Line(name, rate, 1.5, detail))
    refused = sum(r["status"] in _REFUSALS for r in requests)
    failed = sum(r["status"] != 200 and r["status"] not in _REFUSALS for r in requests)
    share = refused / len(requests)
    found.append(Line("serve: share of requests refused by a stated limit", share, float("inf")))
    found.append(Line("serve: requests that failed", float(failed), 0.0))
    if len(rounds) > 4:
        sizes = np.array([r["n_sentences"] for r in rounds], float)
        cost = np.array([r["cpu_seconds"] for r in rounds])
        slope, base, *_ = theilslopes(cost, sizes)
        late = sizes > np.median(sizes)
        above = float(np.median(cost[late] / (base + slope * sizes[late])))
        detail = (
            f" ({len(rounds)} rounds, up to {sizes[-1]:,.0f} sentences, {base:.1f} s + "
            f"{1000 * slope:.1f} ms a sentence of processor time)"
        )
        found.append(
            Line("analyze: late rounds / a straight line in sentences", above, 1.1, detail)
        )
    return found
