"""Which roles come together in the same heads."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.role_test import RoleTest
from headscope.analyses.sieve_scores import KeptScores

NEAR = frozenset({"local", "prev_local", "next_local"})
COLUMNS = (
    "stack", "role_a", "role_b", "n_a", "n_b", "n_both", "jaccard", "share_a", "share_b",
    "spearman_heads", "spearman_scores", "n_scores",
)  # fmt: skip
SYNTAX = frozenset({"syntactic", "nsubj", "obj", "amod", "advmod"})


def ranks(values: NDArray[Any]) -> NDArray[np.float64]:
    """Ranks from 1; equal values share the mean of theirs.

    >>> ranks(np.array([30.0, 10.0, 30.0])).tolist()
    [2.5, 1.0, 2.5]
    """
    # scipy.stats has this too, but takes more than a second to import.
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[place.ravel()])


def spearman(a: NDArray[Any], b: NDArray[Any]) -> float:
    """Spearman's rank correlation; NaN for fewer than three pairs or without spread.

    >>> round(spearman(np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 9.0, 4.0, 16.0])), 4)
    0.8
    """
    if len(a) < 3:
        return float("nan")
    x, y = ranks(a), ranks(b)
    x, y = x - x.mean(), y - y.mean()
    scale = np.sqrt((x @ x) * (y @ y))
    return float(x @ y / scale) if scale > 0 else float("nan")


def role_overlaps(test: RoleTest, kept: KeptScores | None) -> Mapping[str, Any]:
    """Every two roles of a stack: how many heads have one, the other, both.

    `jaccard` is both / either, `share_a` the share of a's heads that also have b (NaN where a has
    none). `spearman_heads` correlates the heads' mean scores; `spearman_scores` the single scores
    of heads in sequences, for roles of neighbourhood against roles of syntax, as in the paper.

    Overlap in heads is no proof of one thing done twice: neighbours often depend on each other, so
    the same weight counts for both. Source: Pande et al. 2021, "Are functional roles mutually
    exclusive?", Figure 4.
    """
    heads = np.array([str(head) for head in test.means.heads], dtype=object)
    stacks = np.array([head.stack for head in test.means.heads], dtype=object)
    roles = np.array(test.means.roles, dtype=object)
    rows: list[dict[str, Any]] = []
    for stack in dict.fromkeys(stacks.tolist()):
        names = [r for r in test.role_names if ((roles == r) & (stacks == stack)).any()]
        mean = {
            r: _by_head(heads, test.means.mean, (roles == r) & (stacks == stack)) for r in names
        }
        sets = {r: set(heads[(roles == r) & (stacks == stack) & test.assigned]) for r in names}
        for a, b in combinations(names, 2):
            both, either = len(sets[a] & sets[b]), len(sets[a] | sets[b])
            shared = [h for h in mean[a] if h in mean[b]]
            of_scores, n_scores = _score_correlation(kept, stack, a, b)
            rows.append(
                {
                    "stack": stack,
                    "role_a": a,
                    "role_b": b,
                    "n_a": len(sets[a]),
                    "n_b": len(sets[b]),
                    "n_both": both,
                    "jaccard": _ratio(both, either),
                    "share_a": _ratio(both, len(sets[a])),
                    "share_b": _ratio(both, len(sets[b])),
                    "spearman_heads": spearman(
                        np.array([mean[a][h] for h in shared]),
                        np.array([mean[b][h] for h in shared]),
                    ),
                    "spearman_scores": of_scores,
                    "n_scores": n_scores,
                }
            )
    return {name: [row[name] for row in rows] for name in COLUMNS}


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")


def _by_head(
    heads: NDArray[Any], mean: NDArray[np.float64], chosen: NDArray[np.bool_]
) -> dict[str, float]:
    known = chosen & ~np.isnan(mean)
    return dict(zip(heads[known].tolist(), mean[known].tolist(), strict=True))


def _score_correlation(kept: KeptScores | None, stack: str, a: str, b: str) -> tuple[float, int]:
    crossed = ({a} <= NEAR and {b} <= SYNTAX) or ({b} <= NEAR and {a} <= SYNTAX)
    if kept is None or not crossed or not {a, b} <= set(kept.roles):
        return float("nan"), 0
    columns = [i for i, head in enumerate(kept.heads) if head.stack == stack]
    x, y = (kept.values[:, columns, kept.roles.index(role)].ravel() for role in (a, b))
    known = ~np.isnan(x) & ~np.isnan(y)
    return spearman(x[known], y[known]), int(known.sum())
