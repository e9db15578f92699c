"""What fine-tuning changed in the roles of heads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.role_test import RoleTest, RoleTestOptions, role_test
from headscope.analyses.sieve_scores import KeptScores, kept_scores
from headscope.errors import RunError
from headscope.stats import mean_interval
from headscope.store import Run
from headscope.types import HeadId

THIRDS = ("initial", "middle", "final")


def thirds(n_layers: int) -> dict[int, str]:
    """Which third of the layers each layer belongs to; earlier thirds get what is left over.

    >>> list(thirds(6).values())
    ['initial', 'initial', 'middle', 'middle', 'final', 'final']
    >>> list(thirds(4).values())
    ['initial', 'initial', 'middle', 'final']
    """
    parts = np.array_split(np.arange(n_layers), 3)
    return {int(i): name for name, part in zip(THIRDS, parts, strict=True) for i in part}


@dataclass(frozen=True, eq=False)
class Pair:
    """Scores of two runs for the same sequences, heads and roles, in the same order."""

    heads: tuple[HeadId, ...]
    roles: tuple[str, ...]
    before: NDArray[np.float64]
    after: NDArray[np.float64]


def paired(a: Run, b: Run) -> Pair:
    """The single scores that both runs kept, of the sequences that both kept."""
    mine, theirs = kept_scores(a), kept_scores(b)
    if mine is None or theirs is None:
        lacking = a if mine is None else b
        raise RunError(
            f"{lacking.path} kept no single scores; analyze it with --set sieve.keep=1000"
        )
    sequences = sorted(set(mine.sequences) & set(theirs.sequences))
    heads = tuple(h for h in mine.heads if h in set(theirs.heads))
    roles = tuple(r for r in mine.roles if r in set(theirs.roles))
    if len(sequences) < 2 or not heads or not roles:
        raise RunError(
            f"{a.path} and {b.path} share {len(sequences)} sequences, {len(heads)} heads and "
            f"{len(roles)} roles with single scores; expected at least 2, 1 and 1"
        )
    return Pair(
        heads, roles, _part(mine, sequences, heads, roles), _part(theirs, sequences, heads, roles)
    )


def _part(
    kept: KeptScores, sequences: list[str], heads: tuple[HeadId, ...], roles: tuple[str, ...]
) -> NDArray[np.float64]:
    at = [
        {name: i for i, name in enumerate(names)}
        for names in (kept.sequences, kept.heads, kept.roles)
    ]
    index = np.ix_(
        [at[0][s] for s in sequences], [at[1][h] for h in heads], [at[2][r] for r in roles]
    )
    return kept.values[index].astype(np.float64)


def role_changes(pair: Pair, model: str) -> Mapping[str, Any]:
    """Change of the mean score per role and third of the layers, with a paired 95 % interval.

        change(s) = mean over the third's heads of (score after − score before) in sequence s

    then mean and Student's interval over sequences. Both models read the same sequences, so what
    varies from text to text cancels, and the interval is that of the difference itself. A positive
    change says that the heads together attend more to the role's tokens, not which heads do.
    Source: Pande et al. 2021, "What is the effect of fine-tuning on functional roles", Figure 6.
    """
    rows: list[dict[str, Any]] = []
    difference = pair.after - pair.before
    for stack in dict.fromkeys(head.stack for head in pair.heads):
        n_layers = 1 + max(head.layer for head in pair.heads if head.stack == stack)
        third_of = thirds(n_layers)
        for third in THIRDS:
            columns = [
                i
                for i, head in enumerate(pair.heads)
                if head.stack == stack and third_of[head.layer] == third
            ]
            if not columns:
                continue
            for j, role in enumerate(pair.roles):
                scores = difference[:, columns, j]
                scores = scores[~np.isnan(scores).any(axis=1)].mean(axis=1)
                if not len(scores):
                    continue
                std = float(scores.std(ddof=1)) if len(scores) > 1 else float("nan")
                low, high = mean_interval(float(scores.mean()), std, len(scores))
                rows.append(
                    {
                        "model": model,
                        "stack": stack,
                        "third": third,
                        "role": role,
                        "change": float(scores.mean()),
                        "ci_low": float(low),
                        "ci_high": float(high),
                        "n_heads": len(columns),
                        "n": len(scores),
                    }
                )
    names = ("model", "stack", "third", "role", "change", "ci_low", "ci_high", "n_heads", "n")
    return {name: [row[name] for row in rows] for name in names}


def role_moves(
    a: Run, b: Run, pair: Pair, model: str, options: RoleTestOptions | None = None
) -> Mapping[str, Any]:
    """Roles that heads gained or lost, both runs tested alike, with the paired change of the score.

    Whether a test just passes or just fails may be chance: the change and its interval say
    whether the head itself changed.
    """
    before, after = _tested(role_test(a, options)), _tested(role_test(b, options))
    at_head = {head: i for i, head in enumerate(pair.heads)}
    at_role = {role: i for i, role in enumerate(pair.roles)}
    rows: list[dict[str, Any]] = []
    for key in before.keys() & after.keys():
        head, role = key
        (had, mean_a, q_a), (has, mean_b, q_b) = before[key], after[key]
        if had == has:
            continue
        low = high = change = float("nan")
        if head in at_head and role in at_role:
            change, low, high = _change(pair, at_head[head], at_role[role])
        rows.append(
            {
                "model": model,
                "stack": head.stack,
                "layer": head.layer,
                "head": head.head,
                "role": role,
                "move": "gained" if has else "lost",
                "mean_before": mean_a,
                "mean_after": mean_b,
                "q_before": q_a,
                "q_after": q_b,
                "change": change,
                "ci_low": low,
                "ci_high": high,
            }
        )
    rows.sort(key=lambda row: (row["stack"], row["layer"], row["head"], row["role"]))
    names = ("model", "stack", "layer", "head", "role", "move", "mean_before", "mean_after",
             "q_before", "q_after", "change", "ci_low", "ci_high")  # fmt: skip
    return {name: [row[name] for row in rows] for name in names}


def _tested(test: RoleTest) -> dict[tuple[HeadId, str], tuple[bool, float, float]]:
    found = zip(
        test.assigned.tolist(), test.means.mean.tolist(), test.q_value.tolist(), strict=True
    )
    return dict(zip(zip(test.means.heads, test.means.roles, strict=True), found, strict=True))


def _change(pair: Pair, head: int, role: int) -> tuple[float, float, float]:
    scores = pair.after[:, head, role] - pair.before[:, head, role]
    scores = scores[~np.isnan(scores)]
    if len(scores) < 2:
        return (float("nan"),) * 3
    mean = float(scores.mean())
    low, high = mean_interval(mean, float(scores.std(ddof=1)), len(scores))
    return mean, float(low), float(high)
