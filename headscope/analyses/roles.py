"""Roles of heads, tested and written into the run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from headscope.analyses.registered import analysis
from headscope.analyses.role_overlaps import role_overlaps
from headscope.analyses.role_test import RoleTest, RoleTestOptions, role_test
from headscope.analyses.sieve_scores import KeptScores, kept_scores
from headscope.store import Run

#: Points of the distribution of scores that are written down.
SHARES = np.round(np.linspace(0.0, 1.0, 201), 3)


@analysis("roles", tables=("sieve",), order=10)
def roles(run: Run) -> None:
    """Test all heads for all roles with the defaults and write what was found into the run."""
    add_roles(run)


def add_roles(run: Run, options: RoleTestOptions | None = None) -> RoleTest:
    """Test roles and write the tables `roles`, `role_overlaps` and `score_quantiles`."""
    kept = kept_scores(run)
    test = role_test(run, options, kept=kept)
    run.add_table("roles", test.table())
    run.add_table("role_overlaps", role_overlaps(test, kept))
    if kept is not None:
        run.add_table("score_quantiles", score_quantiles(kept))
    return test


def score_quantiles(kept: KeptScores) -> Mapping[str, Any]:
    """The distribution of single scores, of every role and of all together (`all`)."""
    columns: dict[str, list[Any]] = {"role": [], "share": [], "score": [], "n": []}
    for name in ("all", *kept.roles):
        values = kept.values if name == "all" else kept.values[:, :, kept.roles.index(name)]
        known = values[~np.isnan(values)].astype(np.float64)
        if not known.size:
            continue
        columns["role"] += [name] * len(SHARES)
        columns["share"] += SHARES.tolist()
        columns["score"] += np.quantile(known, SHARES).tolist()
        columns["n"] += [known.size] * len(SHARES)
    return columns


def describe(test: RoleTest, run: Run) -> dict[str, Any]:
    """What was found, as JSON: the threshold, the heads of every role, overlaps, doubts."""
    means = test.means
    rows = run.table("role_overlaps").to_pylist()
    asked = [
        role
        for measure in run.record.request.measures
        if measure.name == "sieve" and isinstance(listed := measure.parameters.get("roles"), list)
        for role in map(str, listed)
    ]
    doubtful = np.flatnonzero(test.disagrees)
    return {
        "run": str(run.path),
        "tau": test.tau,
        "mean_score": means.mean_score,
        "alpha": test.options.alpha,
        "test": test.test,
        "correction": test.correction,
        "n_tests": int((~np.isnan(test.p_value)).sum()),
        "share_p_between": test.share_between,
        "n_heads": len(set(means.heads)),
        "roles": {role: [str(h) for h in test.heads(role)] for role in test.role_names},
        "absent": [role for role in asked if role not in test.role_names],
        "unskilled": [str(head) for head in test.unskilled()],
        "bootstrap": {
            "checked": int((~np.isnan(test.p_bootstrap)).sum()),
            "disagree": [
                {
                    "head": str(means.heads[i]),
                    "role": means.roles[i],
                    "p_value": float(test.p_value[i]),
                    "p_bootstrap": float(test.p_bootstrap[i]),
                }
                for i in doubtful
            ],
        },
        "overlaps": [
            {k: (None if isinstance(v, float) and v != v else v) for k, v in row.items()}
            for row in rows
        ],
        "note": test.note,
    }
