"""What Pande, Budhraja, Nema, Kumar and Khapra (2021) claim of the roles of heads."""

from __future__ import annotations

import math

from headscope.studies.claim import Finding, Labelled, NoDataError, Verdict, claim
from headscope.studies.claims_tables import (
    Row,
    above,
    below,
    head,
    listed,
    mean,
    percent,
    rows,
    share_interval,
    together,
    yes,
)

PAPER = "Pande et al. 2021"
_SYNTAX = ("nsubj", "obj", "dobj", "amod", "advmod")
#: Roles that say the same of a head at different grain count once.
_KIND = {
    "cls": "delimiter", "sep": "delimiter", "prev_local": "local", "next_local": "local",
    **dict.fromkeys(_SYNTAX, "syntactic"),
}  # fmt: skip


def _heads(found: list[Row]) -> dict[str, set[str]]:
    """The roles of every head, also of those with none."""
    skills: dict[str, set[str]] = {head(row): set() for row in found}
    for row in found:
        if row["assigned"]:
            skills[head(row)].add(row["role"])
    return skills


def _layers(found: list[Row]) -> int:
    return 1 + max(int(row["layer"]) for row in found)


@claim(
    "p_values_are_bimodal",
    paper=f"{PAPER}, Figure 3",
    says="p-values are bimodal: nearly every head × role is clear",
    found="1.8 % of p-values in (0.05, 0.95)",
    rule="over all tasks at most 10 % of p-values lie in (0.05, 0.95)",
)
def p_values_are_bimodal(runs: list[Labelled]) -> Finding:
    """Raw p-values, as in the paper; the limit of 10 % is ours."""
    values = [
        row["p_value"]
        for one in runs
        for row in rows(one, "roles")
        if not math.isnan(row["p_value"])
    ]
    between = sum(0.05 < p < 0.95 for p in values)
    low, high = share_interval(between, len(values))
    here = f"{percent(between / len(values))} of {len(values):,} p-values"
    return Finding(below(low, high, 0.1), here, between / len(values), low, high, len(values),
                   "tests")  # fmt: skip


@claim(
    "most_heads_look_at_delimiters",
    paper=f"{PAPER}, Figure 4",
    says="Most heads are delimiter heads",
    found="73.4 % of heads, mean of four tasks",
    rule="the mean share over tasks is above one half",
)
def most_heads_look_at_delimiters(runs: list[Labelled]) -> Finding:
    """A head with the role `delimiter`, `cls` or `sep`."""
    shares, told = [], []
    for one in runs:
        skills = _heads(rows(one, "roles"))
        share = mean([float(bool(own & {"delimiter", "cls", "sep"})) for own in skills.values()])
        shares.append(share)
        told.append((one.label, percent(share, 0)))
    n = len(_heads(rows(runs[0], "roles")))
    low, high = share_interval(round(mean(shares) * n), n)
    here = f"{percent(mean(shares))} ({listed(told)})" if len(runs) > 1 else percent(shares[0])
    return Finding(yes(mean(shares) > 0.5), here, mean(shares), low, high, n, "heads")


@claim(
    "few_heads_have_no_role",
    paper=f"{PAPER}, Figure 4",
    says="Very few heads have no role",
    found="9.4 % of heads, mean of four tasks",
    rule="the mean share over tasks is below 20 %",
)
def few_heads_have_no_role(runs: list[Labelled]) -> Finding:
    """The limit of 20 % is ours."""
    shares = []
    for one in runs:
        skills = _heads(rows(one, "roles"))
        shares.append(mean([float(not own) for own in skills.values()]))
    n = len(_heads(rows(runs[0], "roles")))
    low, high = share_interval(round(mean(shares) * n), n)
    told = [(one.label, percent(s, 0)) for one, s in zip(runs, shares, strict=True)]
    here = f"{percent(mean(shares))} ({listed(told)})" if len(runs) > 1 else percent(shares[0])
    return Finding(yes(mean(shares) < 0.2), here, mean(shares), low, high, n, "heads")


@claim(
    "syntactic_heads_are_local",
    paper=f"{PAPER}, Figure 4",
    says="Syntactic heads are mostly local heads",
    found="70.9 % of syntactic heads (42.1 to 88.8 %); Spearman's ρ of the scores 0.73 to 0.85",
    rule="over all tasks more than half of the heads with a syntactic role also have a local one, "
    "with the whole interval",
)
def syntactic_heads_are_local(runs: list[Labelled]) -> Finding:
    """Any syntactic role against any local one; the scores' correlation is told along."""
    both = n = 0
    correlations = []
    for one in runs:
        for own in _heads(rows(one, "roles")).values():
            if own & {"syntactic", *_SYNTAX}:
                n += 1
                both += bool(own & {"local", "prev_local", "next_local"})
        if "role_overlaps" in one.run.tables:
            for row in rows(one, "role_overlaps"):
                if {row["role_a"], row["role_b"]} == {"local", "syntactic"}:
                    correlations.append(row["spearman_scores"])
    rho = f"; ρ = {mean(correlations):.2f}" if correlations else ""
    if not n:
        raise NoDataError(f"no head has a syntactic role{rho}")
    low, high = share_interval(both, n)
    here = f"{both} of {n} ({percent(both / n)}){rho}"
    return Finding(above(low, high, 0.5), here, both / n, low, high, n, "syntactic heads")


@claim(
    "subjects_next_objects_before",
    paper=f"{PAPER}, Figure 4",
    says="Subject heads look ahead and object heads back",
    found="nsubj heads overlap with next-local ones, dobj heads with prev-local ones",
    rule="subject heads are next-local more often than prev-local, object heads the reverse",
)
def subjects_next_objects_before(runs: list[Labelled]) -> Finding:
    """Counts over all tasks."""
    counts = {(role, side): 0 for role in ("nsubj", "obj") for side in ("next_local", "prev_local")}
    totals = {"nsubj": 0, "obj": 0}
    for one in runs:
        for own in _heads(rows(one, "roles")).values():
            roles = own | ({"obj"} if "dobj" in own else set())
            for role in totals:
                if role in roles:
                    totals[role] += 1
                    for side in ("next_local", "prev_local"):
                        counts[role, side] += side in roles
    if not all(totals.values()):
        lacking = " and no ".join(role for role, n in totals.items() if not n)
        raise NoDataError(f"no {lacking} head here")
    right = (
        counts["nsubj", "next_local"] > counts["nsubj", "prev_local"]
        and counts["obj", "prev_local"] > counts["obj", "next_local"]
    )
    here = (
        f"of {totals['nsubj']} nsubj heads {counts['nsubj', 'next_local']} look to the next and "
        f"{counts['nsubj', 'prev_local']} to the previous tokens; of {totals['obj']} obj heads "
        f"{counts['obj', 'next_local']} and {counts['obj', 'prev_local']}"
    )
    return Finding(yes(right), here, n=sum(totals.values()), of="heads")


@claim(
    "block_heads_are_apart",
    paper=f"{PAPER}, Figure 4",
    says="Block heads hardly overlap with local and syntactic heads",
    found="only a marginal overlap",
    rule="over the tasks with two segments at most a quarter of block heads are local or syntactic",
)
def block_heads_are_apart(runs: list[Labelled]) -> Finding:
    """Tasks of single sentences have no block heads."""
    both = n = 0
    for one in runs:
        for own in _heads(rows(one, "roles")).values():
            if "block" in own:
                n += 1
                both += bool({_KIND.get(role, role) for role in own} & {"local", "syntactic"})
    if not n:
        raise NoDataError("no head has the role block")
    low, high = share_interval(both, n)
    here = f"{both} of {n} block heads ({percent(both / n)})"
    return Finding(yes(both / n <= 0.25), here, both / n, low, high, n, "block heads")


@claim(
    "middle_layers_do_several_things",
    paper=f"{PAPER}, Figure 5",
    says="Heads with several roles are most frequent in the middle layers",
    found="layers 5 to 9 of 12, for three of four tasks",
    rule="for most tasks the middle third of the layers has most of them",
)
def middle_layers_do_several_things(runs: list[Labelled]) -> Finding:
    """Roles of different kinds; `cls` with `delimiter` is one."""
    verdicts: list[Verdict] = []
    told = []
    n = 0
    for one in runs:
        found = rows(one, "roles")
        n_layers = _layers(found)
        counts = {"first": 0, "middle": 0, "last": 0}
        for name, own in _heads(found).items():
            layer = int(name.split("-")[0]) - 1
            third = list(counts)[min(2, layer * 3 // n_layers)]
            counts[third] += len({_KIND.get(role, role) for role in own}) > 1
        n += sum(counts.values())
        told.append((one.label, "/".join(str(c) for c in counts.values())))
        verdicts.append(
            yes(counts["middle"] > max(counts["first"], counts["last"]))
            if any(counts.values())
            else "cannot tell"
        )
    here = f"heads with several roles in the first, middle and last third: {listed(told)}"
    return Finding(together(verdicts), here, n=n, of="heads with several roles")


@claim(
    "first_layer_ignores_delimiters",
    paper=f"{PAPER}, Figure 5",
    says="The first layer has very few delimiter heads",
    found="very few, if any",
    rule="over all tasks at most a quarter of the first layer's heads, and fewer than elsewhere",
)
def first_layer_ignores_delimiters(runs: list[Labelled]) -> Finding:
    """A head with the role `delimiter`, `cls` or `sep`."""
    first: list[bool] = []
    later: list[bool] = []
    for one in runs:
        for name, own in _heads(rows(one, "roles")).items():
            (first if name.startswith("1-") else later).append(
                bool(own & {"delimiter", "cls", "sep"})
            )
    share, others = sum(first) / len(first), sum(later) / max(1, len(later))
    low, high = share_interval(sum(first), len(first))
    here = f"{sum(first)} of {len(first)} ({percent(share)}); in later layers {percent(others)}"
    return Finding(yes(share <= 0.25 and share < others), here, share, low, high, len(first),
                   "heads of layer 1")  # fmt: skip


@claim(
    "last_layers_have_no_syntax",
    paper=f"{PAPER}, Figure 5",
    says="The last two layers have very few syntactic heads",
    found="very few; most are in layers 6 to 8 of 12",
    rule="over all tasks the last sixth of the layers has a smaller share of them than the others",
)
def last_layers_have_no_syntax(runs: list[Labelled]) -> Finding:
    """Two of twelve layers, one of six."""
    last: list[bool] = []
    rest: list[bool] = []
    for one in runs:
        found = rows(one, "roles")
        if not any(row["role"] in ("syntactic", *_SYNTAX) for row in found):
            continue
        n_layers = _layers(found)
        n_last = max(1, n_layers // 6)
        for name, own in _heads(found).items():
            layer = int(name.split("-")[0])
            (last if layer > n_layers - n_last else rest).append(
                bool(own & {"syntactic", *_SYNTAX})
            )
    if not last or not any(rest + last):
        raise NoDataError("no head has a syntactic role")
    share, others = sum(last) / len(last), sum(rest) / len(rest)
    low, high = share_interval(sum(last), len(last))
    here = f"{percent(share)} of their heads; in the other layers {percent(others)}"
    return Finding(yes(share < others), here, share, low, high, len(last), "heads")


@claim(
    "final_layers_change_most",
    paper=f"{PAPER}, Figure 6",
    says="Fine-tuning changes roles in the final layers most",
    found="initial and middle layers hardly change",
    rule="for most tasks the mean absolute change of scores is largest in the final third",
)
def final_layers_change_most(runs: list[Labelled]) -> Finding:
    """The mean over roles of the absolute change of the third's mean score."""
    verdicts: list[Verdict] = []
    told, n = [], 0
    for one in runs:
        found = rows(one, "role_changes")
        size = {
            third: mean([abs(r["change"]) for r in found if r["third"] == third])
            for third in ("initial", "middle", "final")
        }
        known = not any(math.isnan(value) for value in size.values())  # two layers have no third
        most = max(size, key=size.__getitem__)
        verdicts.append(yes(most == "final") if known else "cannot tell")
        told.append((one.label, "/".join(f"{v:.3f}" for v in size.values())))
        n = max(n, *(int(r["n"]) for r in found))
    here = f"mean |change| in the initial, middle and final third: {listed(told)}"
    return Finding(together(verdicts), here, n=n, of="sequences per task")


@claim(
    "delimiters_fade_in_the_end",
    paper=f"{PAPER}, Figure 6",
    says="Fine-tuning turns the final layers away from delimiters",
    found="the final layers' delimiter score falls, mostly for [SEP]",
    rule="for most tasks the interval of the change lies below 0",
)
def delimiters_fade_in_the_end(runs: list[Labelled]) -> Finding:
    """The paired change of the final third's mean score for `delimiter`."""
    verdicts: list[Verdict] = []
    told = []
    kept: list[Row] = []
    for one in runs:
        row = rows(one, "role_changes", third="final", role="delimiter")[0]
        kept.append(row)
        verdicts.append(below(row["ci_low"], row["ci_high"], 0.0))
        told.append((one.label, f"{row['change']:+.3f}".replace("-", "\N{MINUS SIGN}")))
    first = kept[0] if len(kept) == 1 else None
    return Finding(
        together(verdicts),
        f"change of the score: {listed(told)}",
        mean([r["change"] for r in kept]),
        first["ci_low"] if first else math.nan,
        first["ci_high"] if first else math.nan,
        max(int(r["n"]) for r in kept),
        "sequences per task",
    )
