"""What Kovaleva, Romanov, Rogers and Rumshisky (2019) claim of fine-tuned BERT."""

from __future__ import annotations

import math

import numpy as np

from headscope.stats import holm
from headscope.studies.claim import Finding, Labelled, NoDataError, Verdict, claim
from headscope.studies.claims_tables import (
    Row,
    above,
    by_layer,
    head,
    listed,
    mean,
    percent,
    rows,
    share_interval,
    spearman_interval,
    together,
    yes,
)

PAPER = "Kovaleva et al. 2019"


@claim(
    "many_maps_have_no_shape",
    paper=f"{PAPER}, §4.1, Figure 2",
    says="A third to two thirds of all maps are heterogeneous",
    found="32 % (MRPC) to 61 % (QQP)",
    rule="the smallest share over tasks is at least 25 %",
)
def many_maps_have_no_shape(runs: list[Labelled]) -> Finding:
    """Shares by the shipped network, whose F1 for this class is 0.57: read it with care."""
    shares = {one.label: _pattern(one, "heterogeneous") for one in runs}
    told = [(label, percent(share, 0)) for label, share in shares.items()]
    vertical = mean([_pattern(one, "vertical") for one in runs])
    here = f"{listed(told)}; vertical {percent(vertical, 0)}"
    n = max(int(r["n"]) for one in runs for r in rows(one, "patterns"))
    least = min(shares.values())
    return Finding(yes(least >= 0.25), here, least, n=n, of="maps per head")


def _pattern(one: Labelled, pattern: str) -> float:
    return mean([r["share"] for r in rows(one, "patterns", pattern=pattern)])


@claim(
    "few_heads_link_frames",
    paper=f"{PAPER}, §4.2",
    says="Very few heads link a word with the elements of its frame",
    found="2 of 144 heads",
    rule="at most 5 % of heads exceed random pairs at the same distance (q ≤ 0.05)",
)
def few_heads_link_frames(runs: list[Labelled]) -> Finding:
    """The paper has no baseline; ours moves target and element together within the sentence."""
    found = rows(runs[0], "frames")
    sure = [r for r in found if r["above"]]
    best = max(found, key=lambda r: float(r["mean_max"]))
    low, high = share_interval(len(sure), len(found))
    here = (
        f"{len(sure)} of {len(found)} heads; the strongest is {head(best)} with "
        f"{percent(best['mean_max'])}, random pairs {percent(best['baseline'])}"
    )
    verdict = yes(0 < len(sure) <= 0.05 * len(found))
    if not sure and best["n"] < 100:
        verdict = "cannot tell"
    return Finding(verdict, here, len(sure) / len(found), low, high, int(best["n"]), "frames")


@claim(
    "last_layers_change_most",
    paper=f"{PAPER}, §4.3",
    says="Fine-tuning changes the last two layers most",
    found="for all tasks but QQP",
    rule="for most tasks the last two layers have the two lowest mean cosines",
)
def last_layers_change_most(runs: list[Labelled]) -> Finding:
    """Cosine of the same head's maps before and after, mean over the heads of a layer."""
    verdicts: list[Verdict] = []
    told, values = [], []
    n = 0
    for one in runs:
        found = rows(one, "similarity")
        layers = by_layer(found, "cosine")
        order = sorted(range(len(layers)), key=layers.__getitem__)
        verdicts.append(yes(set(order[:2]) == {len(layers) - 2, len(layers) - 1}))
        changed = ", ".join(str(i + 1) for i in sorted(order[:2]))
        told.append((one.label, f"layers {changed} (last layer {layers[-1]:.4f})"))
        values.append(layers[-1])
        n = max(n, int(found[0]["n"]))
    here = f"the two that change most: {listed(told)}"
    return Finding(together(verdicts), here, mean(values), n=n, of="sequences per task")


@claim(
    "delimiters_draw_most",
    paper=f"{PAPER}, §4.4, Figure 5",
    says="Stripes come from [CLS] and [SEP], not from linguistic features",
    found="other tokens' weights are negligible compared with [CLS] and [SEP]",
    rule="for most tasks no linguistic feature draws as much as [CLS] or [SEP], mean over heads",
)
def delimiters_draw_most(runs: list[Labelled]) -> Finding:
    """Mean over all heads of what the strongest token of a kind draws."""
    verdicts: list[Verdict] = []
    told, n = [], 0
    for one in runs:
        found = rows(one, "features")
        size = {f: mean([r["mean"] for r in found if r["feature"] == f])
                for f in dict.fromkeys(r["feature"] for r in found)}  # fmt: skip
        marks = [size[f] for f in ("cls", "sep") if f in size]
        words = {f: v for f, v in size.items() if f not in ("cls", "sep") and not math.isnan(v)}
        if not marks or not words:
            verdicts.append("cannot tell")
            continue
        best = max(words, key=words.__getitem__)
        verdicts.append(yes(max(marks) > words[best]))
        told.append((one.label, f"{percent(max(marks))} against {percent(words[best])} ({best})"))
        n = max(n, int(found[0]["n"]))
    if not told:
        raise NoDataError("no delimiter or no linguistic feature here")
    return Finding(together(verdicts), listed(told), n=n, of="sequences per task")


@claim(
    "cls_early_sep_late",
    paper=f"{PAPER}, §4.4, Figure 5",
    says="Earlier layers attend to [CLS], later ones to [SEP]",
    found="a clear tendency, for all tasks",
    rule="for most tasks attention to [CLS] falls with depth and attention to [SEP] rises "
    "(Spearman's ρ over layers)",
)
def cls_early_sep_late(runs: list[Labelled]) -> Finding:
    """Layer means of the features [CLS] and [SEP]."""
    verdicts: list[Verdict] = []
    told = []
    n_layers = 0
    for one in runs:
        found = rows(one, "features")
        rho = {}
        for feature in ("cls", "sep"):
            layers = by_layer([r for r in found if r["feature"] == feature], "mean")
            n_layers = len(layers)
            rho[feature] = spearman_interval(range(n_layers), layers)[0] if layers else math.nan
        if any(math.isnan(v) for v in rho.values()):
            verdicts.append("cannot tell")
            continue
        verdicts.append(yes(rho["cls"] < 0 < rho["sep"]))
        both = f"{rho['cls']:+.2f}/{rho['sep']:+.2f}".replace("-", "\N{MINUS SIGN}")
        told.append((one.label, both))
    if not told:
        raise NoDataError("no [CLS] or no [SEP] here")
    here = f"ρ of depth with [CLS]/[SEP]: {listed(told)}"
    return Finding(together(verdicts), here, n=n_layers, of="layers")


@claim(
    "links_are_diagonals",
    paper=f"{PAPER}, §4.5",
    says="Heads that seem to link verbs with subjects are those that look at neighbours",
    found="the candidates coincide with diagonal maps",
    rule="the head with the strongest link gives over half of its attention to the token itself, "
    "the previous and the next one; and both go together over heads (ρ above 0 with its interval)",
)
def links_are_diagonals(runs: list[Labelled]) -> Finding:
    """Verb → subject and pronoun → noun, each head's stronger one."""
    found = rows(runs[0], "links")
    links: dict[str, float] = {}
    for row in found:
        if row["link"] in ("verb_to_subject", "pronoun_to_noun") and not math.isnan(row["mean"]):
            links[head(row)] = max(links.get(head(row), 0.0), row["mean"])
    near: dict[str, float] = {}
    for row in rows(runs[0], "surface"):
        if row["target"] in ("self", "prev", "next"):
            near[head(row)] = near.get(head(row), 0.0) + row["mean"]
    names = [name for name in links if name in near]
    if len(names) < 4:
        raise NoDataError("too few heads with links")
    r, low, high, n = spearman_interval([links[h] for h in names], [near[h] for h in names])
    best = max(names, key=links.__getitem__)
    here = (
        f"{best} has the strongest link ({percent(links[best])}) and {percent(near[best])} of its "
        f"attention within one token; ρ = {r:.2f} over heads"
    )
    verdict: Verdict = above(low, high, 0.0)
    if near[best] <= 0.5:
        verdict = "does not hold"
    return Finding(verdict, here, r, low, high, n, "heads")


@claim(
    "cls_ends_on_sep",
    paper=f"{PAPER}, §4.5, Figure 6",
    says="In the last layer [CLS] attends most to [SEP]",
    found="for all tasks but STS-B, RTE and QNLI",
    rule="for most tasks no kind of token (nouns, verbs, punctuation …) gets a larger share of the "
    "last layer's [CLS] row than [SEP]",
)
def cls_ends_on_sep(runs: list[Labelled]) -> Finding:
    """Kinds of tokens by their share of the row, mean over the last layer's heads."""
    verdicts: list[Verdict] = []
    told, n = [], 0
    for one in runs:
        found = rows(one, "cls_row")
        last = max(int(r["layer"]) for r in found)
        mine = [r for r in found if r["layer"] == last]
        size = {t: mean([r["mean"] for r in mine if r["target"] == t])
                for t in dict.fromkeys(r["target"] for r in mine)}  # fmt: skip
        known = {t: v for t, v in size.items() if not math.isnan(v) and t != "other"}
        best = max(known, key=known.__getitem__)
        verdicts.append(yes(best == "sep"))
        told.append((one.label, f"{best} ({percent(known[best], 0)})"))
        n = max(n, int(mine[0]["n"]))
    return Finding(together(verdicts), listed(told), n=n, of="sequences per task")


def _switched_off(one: Labelled, by: str) -> list[Row]:
    """The rows of the task's first metric, gains positive."""
    found = [r for r in rows(one, "ablation") if r["by"] == by]
    metric = next((r["metric"] for r in found if r["metric"] != "loss"), None)
    return [r for r in found if r["metric"] == metric]


def _helps(runs: list[Labelled], by: str, published: float) -> Finding:
    """Holm's correction is over every switch-off of every task: all of them were tried.

    That no gain remains is a finding only where a gain of the published size would have been seen.
    """
    tried = [(one.label, row) for one in runs for row in _switched_off(one, by)]
    if not tried:
        raise NoDataError(f"no {by} was switched off")
    corrected = holm(np.array([row["p_value"] for _, row in tried], float))
    sure = [
        (label, row)
        for (label, row), p in zip(tried, corrected.tolist(), strict=True)
        if p <= 0.05 and row["delta"] > 0
    ]
    told = []
    for label in dict.fromkeys(label for label, _ in tried):
        best = max((r for name, r in tried if name == label), key=lambda r: float(r["delta"]))
        what = head(best) if by == "head" else f"layer {best['layer'] + 1}"
        told.append((label, f"{_points(best['delta'])} ({what})"))
    top = max((row for _, row in sure or tried), key=lambda r: float(r["delta"]))
    here = (
        f"best change in points: {listed(told)}; after correction {len(sure)} of {len(tried)} "
        "gains remain"
    )
    verdict: Verdict = "holds" if sure else "cannot tell"
    if not sure and all(row["ci_high"] < published for _, row in tried):
        verdict = "does not hold"
    return Finding(
        verdict, here, top["delta"], top["ci_low"], top["ci_high"], int(top["n"]), "examples"
    )


def _points(delta: float) -> str:
    return f"{100 * delta:+.1f}".replace("-", "\N{MINUS SIGN}")


@claim(
    "switching_a_head_off_helps",
    paper=f"{PAPER}, §4.6, Figure 7",
    says="Switching some single head off improves a task",
    found="in every task, by 0.1 (STS-B) to 1.2 points (MRPC)",
    rule="for at least one task a head's gain remains after Holm's correction over all heads and "
    "tasks tried; not, if every interval excludes the largest published gain",
)
def switching_a_head_off_helps(runs: list[Labelled]) -> Finding:
    """The best of many always gains a little: only the correction tells whether it helps."""
    return _helps(runs, "head", published=0.012)


@claim(
    "switching_a_layer_off_helps",
    paper=f"{PAPER}, §4.6, Figure 8",
    says="Switching a whole layer off improves a task",
    found="3.2 points on RTE without the first layer; QNLI and MNLI lose up to 0.2",
    rule="for at least one task a layer's gain remains after Holm's correction over all layers and "
    "tasks tried; not, if every interval excludes the largest published gain",
)
def switching_a_layer_off_helps(runs: list[Labelled]) -> Finding:
    """All heads of a layer made uniform."""
    return _helps(runs, "layer", published=0.032)


@claim(
    "most_heads_can_go",
    paper=f"{PAPER}, §4.6 and §5",
    says="Most single heads can be switched off without a loss",
    found="for some tasks a random head's removal even helps on average",
    rule="over all tasks at most 10 % of heads lose something that remains after Holm's "
    "correction, and most heads' intervals exclude a loss of 2 points",
)
def most_heads_can_go(runs: list[Labelled]) -> Finding:
    """Overparametrization, as the paper puts it."""
    tried: list[Row] = []
    means = []
    for one in runs:
        mine = _switched_off(one, "head")
        tried += mine
        if mine:
            means.append((one.label, _points(mean([r["delta"] for r in mine]))))
    corrected = holm(np.array([r["p_value"] for r in tried], float)).tolist()
    n = len(tried)
    lost = sum(p <= 0.05 and r["delta"] < 0 for p, r in zip(corrected, tried, strict=True))
    if not n:
        raise NoDataError("no head was switched off")
    low, high = share_interval(lost, n)
    safe = sum(r["ci_low"] > -0.02 for r in tried)
    here = (
        f"{lost} of {n} heads are missed, {safe} surely lose less than 2 points; "
        f"mean change in points: {listed(means)}"
    )
    verdict: Verdict = yes(lost <= 0.1 * n)
    if verdict == "holds" and safe <= n / 2:
        verdict = "cannot tell"
    return Finding(verdict, here, lost / n, low, high, n, "heads")
