"""What Guan, Leng, Li, Chen and Guo (2020) claim of kinds of heads."""

from __future__ import annotations

from collections import Counter

from headscope.studies.claim import Finding, Labelled, NoDataError, Verdict, claim
from headscope.studies.claims_tables import (
    Row,
    above,
    head,
    listed,
    mean,
    percent,
    rows,
    share_interval,
    together,
    weakest,
    yes,
)

PAPER = "Guan et al. 2020"
KINDS = ("dense", "diagonal", "dense_vertical", "vertical")


@claim(
    "clusters_are_stable",
    paper=f"{PAPER}, §4, Table 1",
    says="Clusters of heads are stable when they are fitted to half of the data",
    found="94.4 to 96.3 % of heads, four models",
    rule="for most models at least 90 % of heads keep their cluster in ten refits",
)
def clusters_are_stable(runs: list[Labelled]) -> Finding:
    """All ten refits must agree with the label that is reported."""
    verdicts: list[Verdict] = []
    told, shares, n = [], [], 0
    for one in runs:
        found = rows(one, "clusters")
        if not any(r["stable"] for r in found):
            verdicts.append("cannot tell")  # too few sequences to divide
            continue
        share = mean([float(r["stable"]) for r in found])
        shares.append(share)
        told.append((one.label, percent(share)))
        verdicts.append(yes(share >= 0.9))
        n += len(found)
    if not shares:
        raise NoDataError("too few sequences to refit on halves")
    low, high = share_interval(round(mean(shares) * n), n)
    return Finding(together(verdicts), listed(told), mean(shares), low, high, n, "heads")


@claim(
    "there_are_four_kinds",
    paper=f"{PAPER}, §4, Figure 1",
    says="Heads are of four kinds: dense, diagonal, dense and vertical, vertical",
    found="26.0, 25.6, 34.1 and 13.3 % of 384 heads",
    rule="each of the four names is given to exactly one of four clusters",
)
def there_are_four_kinds(runs: list[Labelled]) -> Finding:
    """A name is given only where the cluster's centre and most of its heads meet its rule."""
    found = rows(runs[0], "clusters")
    by_cluster = {r["cluster"]: r["name"] for r in found}
    sizes = Counter(r["name"] or "no name" for r in found)
    named = Counter(name for name in by_cluster.values() if name)
    here = ", ".join(
        f"{name.replace('_', ' and ')} {percent(n / len(found), 0)}" for name, n in sizes.items()
    )
    right = set(named) == set(KINDS) and set(named.values()) == {1}
    return Finding(yes(right), here, len(set(named) & set(KINDS)) / 4, n=len(found), of="heads")


@claim(
    "dense_heads_come_first",
    paper=f"{PAPER}, §4, Figure 3",
    says="Dense heads are mainly in the first layers and vertical ones in higher layers",
    found="dense at the beginning, vertical at higher layers, of 24",
    rule="the mean layer of dense heads is lower than that of vertical ones",
)
def dense_heads_come_first(runs: list[Labelled]) -> Finding:
    """Where there is no vertical cluster, dense & vertical heads stand in for it."""
    found = rows(runs[0], "clusters")
    last = max(int(r["layer"]) for r in found) or 1
    depth = {
        name: mean([r["layer"] / last for r in found if r["name"] == name])
        for name in KINDS
        if any(r["name"] == name for r in found)
    }
    high = "vertical" if "vertical" in depth else "dense_vertical"
    if "dense" not in depth or high not in depth:
        raise NoDataError(f"only {', '.join(depth) or 'no'} cluster(s) have these names")
    here = "mean depth (0 first layer, 1 last): " + ", ".join(
        f"{name.replace('_', ' and ')} {value:.2f}" for name, value in depth.items()
    )
    return Finding(yes(depth["dense"] < depth[high]), here, n=len(found), of="heads")


@claim(
    "tuning_keeps_most_kinds",
    paper=f"{PAPER}, §4, Figure 4",
    says="Most heads keep their kind through fine-tuning; those that change are in high layers",
    found="similar distributions in four models; some heads of the highest layers change",
    rule="at least 75 % of heads keep their cluster, and those that change are on average above "
    "the middle",
)
def tuning_keeps_most_kinds(runs: list[Labelled]) -> Finding:
    """One fit for all models; the first is the one before."""
    found = rows(runs[0], "clusters_compared")
    models = list(dict.fromkeys(r["run"] for r in found))
    if len(models) < 2:
        raise NoDataError("only one model")
    label = {(r["run"], head(r)): r["cluster"] for r in found}
    heads = list(dict.fromkeys(head(r) for r in found))
    last = max(int(r["layer"]) for r in found) or 1
    kept, moved, told = 0, [], []
    for model in models[1:]:
        same = [h for h in heads if label.get((models[0], h)) == label.get((model, h))]
        kept += len(same)
        moved += [(int(h.split("-")[0]) - 1) / last for h in heads if h not in same]
        told.append((model, f"{len(same)} of {len(heads)}"))
    n = len(heads) * (len(models) - 1)
    low, high = share_interval(kept, n)
    depth = mean(moved)
    where = f"; those that change are at a mean depth of {depth:.2f}" if moved else ""
    right = kept / n >= 0.75 and (not moved or depth > 0.5)
    return Finding(yes(right), listed(told) + where, kept / n, low, high, n, "heads × models")


def _groups(runs: list[Labelled], how: str) -> dict[str, Row]:
    """What each kind's switch-off did to the first metric, by the kind's name."""
    for one in runs:
        found = [r for r in rows(one, "ablation") if r["edit"] == how]
        if found:
            metric = next(r["metric"] for r in found if r["metric"] != "loss")
            return {
                r["group"]: r
                for r in found
                if r["metric"] == metric and "+" not in (r["group"] or "")
            }
    raise NoDataError(f"no ablation of the kind {how}")


def _lost(groups: dict[str, Row], name: str) -> Row:
    if name not in groups:
        known = ", ".join(g for g in groups if not g.startswith("all but"))
        raise NoDataError(f"no cluster is called {name.replace('_', ' and ')} here ({known})")
    return groups[name]


def _point(row: Row) -> str:
    return f"{100 * row['delta']:+.1f}".replace("-", "\N{MINUS SIGN}")


def _told(groups: dict[str, Row]) -> str:
    own = {g: r for g, r in groups.items() if not g.startswith("all but")}
    return ", ".join(
        f"{g.replace('_', ' and ')} {_point(r)} ({r['n_heads']} heads)" for g, r in own.items()
    )


def _finding(verdict: Verdict, here: str, row: Row) -> Finding:
    return Finding(
        verdict, here, row["delta"], row["ci_low"], row["ci_high"], int(row["n"]), "questions"
    )


@claim(
    "diagonal_heads_are_vital",
    paper=f"{PAPER}, §5.1, Table 2",
    says="Without diagonal heads the model can do nothing; other kinds matter less",
    found="exact match 82.9 → 4.6 without diagonal heads; other kinds lose 1.4 to 9.5 points",
    rule="pruning a diagonal cluster loses most, with an interval below 0",
)
def diagonal_heads_are_vital(runs: list[Labelled]) -> Finding:
    """Attention of the kind set to 0. Kinds differ in how many heads they have."""
    groups = _groups(runs, "zero")
    row = _lost(groups, "diagonal")
    own = [r for g, r in groups.items() if not g.startswith("all but")]
    worst = min(own, key=lambda r: float(r["delta"]))
    verdict: Verdict = yes(worst is row and row["ci_high"] < 0)
    if row["ci_low"] <= 0 <= row["ci_high"] and worst["ci_low"] <= 0 <= worst["ci_high"]:
        verdict = "cannot tell"
    return _finding(verdict, f"points of the metric: {_told(groups)}", row)


@claim(
    "vertical_heads_can_go",
    paper=f"{PAPER}, §5.1, Table 2",
    says="Vertical heads can be pruned with little loss",
    found="1.4 points of exact match, 1.1 of F1",
    rule="pruning them loses at most 2 points, with its interval",
)
def vertical_heads_can_go(runs: list[Labelled]) -> Finding:
    """Attention of the kind set to 0."""
    groups = _groups(runs, "zero")
    row = _lost(groups, "vertical")
    verdict = above(row["ci_low"], row["ci_high"], -0.02)
    return _finding(verdict, f"{_point(row)} points; {_told(groups)}", row)


@claim(
    "dense_heads_are_trivial",
    paper=f"{PAPER}, §5.1, Table 2",
    says="Dense heads can be replaced by even attention with a small loss",
    found="8.2 points of exact match; 81.6 for diagonal, 73.7 for dense and vertical heads",
    rule="making them uniform loses less than 10 points, with its interval, and less than any "
    "other kind",
)
def dense_heads_are_trivial(runs: list[Labelled]) -> Finding:
    """Every weight 1/n."""
    groups = _groups(runs, "uniform")
    row = _lost(groups, "dense")
    own = [r for g, r in groups.items() if not g.startswith("all but")]
    best = max(own, key=lambda r: float(r["delta"]))
    small = above(row["ci_low"], row["ci_high"], -0.1)
    least: Verdict = "holds" if best is row else "cannot tell"
    if best["ci_low"] > row["ci_high"]:
        least = "does not hold"
    return _finding(weakest(small, least), f"points of the metric: {_told(groups)}", row)


@claim(
    "diagonal_heads_are_local",
    paper=f"{PAPER}, §5.2, Table 3",
    says="Diagonal heads work within a sentence",
    found="without attention inside a sentence 17.0 exact match, without attention across 82.3",
    rule="removing attention inside segments loses more than removing it across, and the intervals "
    "of both losses are apart",
)
def diagonal_heads_are_local(runs: list[Labelled]) -> Finding:
    """`intra` keeps what is inside a segment, `inter` what is across: the other half is removed."""
    inside = _lost(_groups(runs, "inter"), "diagonal")
    across = _lost(_groups(runs, "intra"), "diagonal")
    here = f"without inside {_point(inside)}, without across {_point(across)} points"
    verdict: Verdict = "cannot tell"
    if inside["ci_high"] < across["ci_low"] or across["ci_high"] < inside["ci_low"]:
        verdict = yes(inside["delta"] < across["delta"])
    return _finding(verdict, here, inside)
