"""What Jo and Myaeng (2020) claim of what heads store."""

from __future__ import annotations

import math
import statistics

import numpy as np

from headscope.stats import mean_interval
from headscope.studies.claim import Finding, Labelled, NoDataError, Verdict, claim
from headscope.studies.claims_tables import (
    Row,
    above,
    listed,
    mean,
    rows,
    share_interval,
    spearman_interval,
    together,
    weakest,
    yes,
)

PAPER = "Jo and Myaeng 2020"


def _tasks(one: Labelled) -> dict[str, dict[str, Row]]:
    """Per task the last layer, the best layer, and as many top heads as a layer has."""
    found = rows(one, "probe")
    tasks: dict[str, dict[str, Row]] = {}
    for task in dict.fromkeys(r["task"] for r in found):
        mine = [r for r in found if r["task"] == task]
        first = [r for r in mine if r["metric"] == mine[0]["metric"]]
        plain = 1 + max(int(r["head"]) for r in first if r["representation"] == "head")
        kept = {r["representation"]: r for r in first if r["representation"] in ("last", "best")}
        tops = [r for r in first if r["representation"] == "top_n" and r["n_heads"] == plain]
        if tops and len(kept) == 2:
            tasks[task] = {**kept, "top": tops[0]}
    if not tasks:
        raise NoDataError("no task with a last layer, a best layer and the top heads")
    return tasks


def _wins(runs: list[Labelled], other: str) -> Finding:
    """How often the top heads score more on test rows, with an exact sign test."""
    from scipy.stats import binomtest

    gains = [
        (task if len(runs) == 1 else f"{one.label} {task}", parts["top"]["test"], parts[other])
        for one in runs
        for task, parts in _tasks(one).items()
    ]
    won = sum(top > row["test"] for _, top, row in gains)
    lost = sum(top < row["test"] for _, top, row in gains)
    points = [100 * (top - row["test"]) for _, top, row in gains]
    middle = statistics.median(points)
    relative = statistics.median(
        [100 * (top / row["test"] - 1) for _, top, row in gains if row["test"]] or [math.nan]
    )
    p = binomtest(won, won + lost, alternative="greater").pvalue if won + lost else 1.0
    low, high = share_interval(won, len(gains))
    here = (
        f"on {won} of {len(gains)} tasks; median {middle:+.1f} points ({relative:+.1f} %), "
        f"sign test p = {p:.2g}"
    ).replace("-", "\N{MINUS SIGN}")
    verdict: Verdict = yes(won > lost)
    if p > 0.05 and won > lost:
        verdict = "cannot tell"
    return Finding(verdict, here, won / len(gains), low, high, len(gains), "tasks")


@claim(
    "top_heads_beat_the_best_layer",
    paper=f"{PAPER}, §4.4, Table 3",
    says="The best heads together beat the best layer at equal width",
    found="on all ten tasks; 19.2 % in the median over the last layer",
    rule="on more tasks than not, by a one-sided sign test at 5 %",
)
def top_heads_beat_the_best_layer(runs: list[Labelled]) -> Finding:
    """Heads and layer are chosen on validation rows, compared on test rows."""
    return _wins(runs, "best")


@claim(
    "top_heads_beat_the_last_layer",
    paper=f"{PAPER}, §4.4, Table 3",
    says="The best heads together beat the last layer at equal width",
    found="on all ten tasks",
    rule="on more tasks than not, by a one-sided sign test at 5 %",
)
def top_heads_beat_the_last_layer(runs: list[Labelled]) -> Finding:
    """The last layer is what people usually take."""
    return _wins(runs, "last")


@claim(
    "the_last_layer_is_not_the_best",
    paper=f"{PAPER}, §4.4, Table 3",
    says="The last layer is never better than the best layer",
    found="on none of ten tasks (better than it on 6)",
    rule="the best layer, chosen on validation rows, is another one for most tasks",
)
def the_last_layer_is_not_the_best(runs: list[Labelled]) -> Finding:
    """Which layer the validation rows prefer."""
    chosen = [
        (parts["best"]["layer"], parts["last"]["layer"])
        for one in runs
        for parts in _tasks(one).values()
    ]
    earlier = sum(best < last for best, last in chosen)
    low, high = share_interval(earlier, len(chosen))
    here = f"an earlier layer on {earlier} of {len(chosen)} tasks"
    return Finding(
        above(low, high, 0.5), here, earlier / len(chosen), low, high, len(chosen), "tasks"
    )


_LOW = ("sentence_length", "tree_depth")
_HIGH = ("bigram_shift", "odd_man_out")


@claim(
    "surface_low_meaning_high",
    paper=f"{PAPER}, §4.3, Figure 3",
    says="Length and depth are stored in lower layers than word order and odd words",
    found="lower layers for Length and Depth, upper ones for BigramShift and OddManOut",
    rule="the mean layer, weighted by how far heads are above chance, is lower for the former two",
)
def surface_low_meaning_high(runs: list[Labelled]) -> Finding:
    """Depth from 0 (first layer) to 1 (last), weighted by max(0, test − control) of each head."""
    verdicts: list[Verdict] = []
    told, n = [], 0
    for one in runs:
        found = [r for r in rows(one, "probe") if r["representation"] == "head"]
        last = max(int(r["layer"]) for r in found) or 1
        centre: dict[str, float] = {}
        for task in (*_LOW, *_HIGH):
            mine = [r for r in found if r["task"] == task]
            gains = [max(0.0, r["test"] - r["control"]) for r in mine]
            if mine and sum(gains) > 0:
                depth = sum(g * r["layer"] for g, r in zip(gains, mine, strict=True))
                centre[task] = depth / sum(gains) / last
        low = [centre[t] for t in _LOW if t in centre]
        high = [centre[t] for t in _HIGH if t in centre]
        if not low or not high:
            verdicts.append("cannot tell")
            continue
        n += len(centre)
        verdicts.append(yes(mean(low) < mean(high)))
        told.append((one.label, f"{mean(low):.2f} against {mean(high):.2f}"))
    if not told:
        raise NoDataError("none of these tasks was probed")
    here = f"mean depth (0 first layer, 1 last): {listed(told)}"
    return Finding(together(verdicts), here, n=n, of="tasks")


@claim(
    "syntax_and_meaning_go_together",
    paper=f"{PAPER}, §6.2, Figure 5",
    says="Heads that do well at syntax do well at meaning",
    found="a linear relationship, for every encoder",
    rule="the correlation of both scores over heads is above 0 with its interval",
)
def syntax_and_meaning_go_together(runs: list[Labelled]) -> Finding:
    """Spearman's ρ over all heads."""
    verdicts: list[Verdict] = []
    told = []
    kept: list[tuple[float, float, float, int]] = []
    for one in runs:
        found = rows(one, "probe_groups")
        r, low, high, n = spearman_interval(
            [row["syntactic"] for row in found], [row["semantic"] for row in found]
        )
        if math.isnan(r):
            verdicts.append("cannot tell")
            continue
        kept.append((r, low, high, n))
        verdicts.append(above(low, high, 0.0))
        told.append((one.label, f"ρ = {r:.2f}"))
    if not kept:
        raise NoDataError("too few heads or tasks for both scores")
    return Finding(together(verdicts), listed(told), *kept[0], "heads")


@claim(
    "tuning_top_heads_helps",
    paper=f"{PAPER}, §5.2, Table 4",
    says="Fine-tuning through the best heads beats fine-tuning through the last layer",
    found="+0.82 points on average (BERT-base), medians of five seeds",
    rule="the median over seeds is higher for more than half of tasks and metrics, with the "
    "interval of that share",
)
def tuning_top_heads_helps(runs: list[Labelled]) -> Finding:
    """Dev scores of every task's own metrics; the loss is left out."""
    gains, told = [], []
    n = n_seeds = 0
    for one in runs:
        found = [r for r in rows(one, "pools") if r["metric"] != "loss"]
        for metric in dict.fromkeys(r["metric"] for r in found):
            middle = {
                pool: statistics.median([r["value"] for r in found
                                         if r["pool"] == pool and r["metric"] == metric])
                for pool in dict.fromkeys(r["pool"] for r in found)
            }  # fmt: skip
            if {"top-n", "last"} <= set(middle):
                gain = 100 * (middle["top-n"] - middle["last"])
                gains.append(gain)
                told.append((f"{found[0]['task']} {metric}", f"{gain:+.1f}"))
        n, n_seeds = n + int(found[0]["n"]), len({r["seed"] for r in found})
    if not gains:
        raise NoDataError("no task was tuned through both")
    here = f"points: {', '.join(f'{a} {b}' for a, b in told)}; mean {mean(gains):+.2f}"
    here = here.replace(" -", " \N{MINUS SIGN}") + f"; {n_seeds} seed(s) each"
    won = sum(g > 0 for g in gains)
    low, high = share_interval(won, len(gains))
    verdict = above(low, high, 0.5)
    return Finding(verdict, here, mean(gains), low, high, len(gains), "tasks × metrics won")


@claim(
    "tuning_keeps_the_map",
    paper=f"{PAPER}, §6.1, Figure 4",
    says="Fine-tuning amplifies the heads that were good before and keeps the pattern",
    found="heat maps are amplified while their distribution is preserved",
    rule="for most tasks heads' scores before and after correlate and their mean rises, both above "
    "0 with their intervals",
)
def tuning_keeps_the_map(runs: list[Labelled]) -> Finding:
    """Head by head, test scores of the probes before and after fine-tuning."""
    verdicts: list[Verdict] = []
    told = []
    kept: list[tuple[float, float, float, int]] = []
    for one in runs:
        found = [r for r in rows(one, "probe_compared") if r["representation"] == "head"]
        models = list(dict.fromkeys(r["model"] for r in found))
        for task in dict.fromkeys(r["task"] for r in found):
            metric = next(r["metric"] for r in found if r["task"] == task)
            scores = [
                [r["test"] for r in found
                 if (r["model"], r["task"], r["metric"]) == (model, task, metric)]
                for model in models
            ]  # fmt: skip
            before, after = scores[0], scores[-1]
            if len(before) != len(after):
                continue
            r, low, high, n = spearman_interval(before, after)
            rises = np.subtract(after, before)
            rise, spread = float(rises.mean()), float(rises.std(ddof=1))
            least, most = (float(end) for end in mean_interval(rise, spread, len(rises)))
            verdicts.append(weakest(above(low, high, 0.0), above(least, most, 0.0)))
            kept.append((r, low, high, n))
            both = f"ρ = {r:.2f}, mean {100 * rise:+.1f} points".replace("-", "\N{MINUS SIGN}")
            told.append((task, both))
    if not kept:
        raise NoDataError("no task was probed before and after")
    here = "; ".join(f"{task}: {text}" for task, text in told)
    return Finding(together(verdicts), here, *kept[0], "heads")
