"""Do heads with a role matter more than heads without?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.registered import analysis
from headscope.stats import benjamini_hochberg
from headscope.store import Run

ANY = "any role"
_N_PERMUTATIONS = 9999


def difference_within_layers(
    effects: NDArray[np.float64],
    chosen: NDArray[np.bool_],
    layers: Sequence[int] | NDArray[np.int64],
    *,
    n_permutations: int = _N_PERMUTATIONS,
    seed: int = 0,
) -> tuple[float, float]:
    """Mean effect of chosen heads − that of the others, and the p-value that it is no larger.

    Heads of one layer are exchangeable under H0, heads of different layers are not (roles and
    effects both go with depth), so labels are shuffled within layers only:

        p = (1 + #{shuffles with a difference ≥ ours}) / (1 + n_permutations)

    NaN where every head is chosen, or none. Source: Good (2005), "Permutation, Parametric and
    Bootstrap Tests of Hypotheses", §3: stratified permutation.

    >>> effects = np.array([5.0, 1.0, 1.0, 1.0, 5.0, 1.0, 1.0, 1.0])
    >>> chosen = effects == 5
    >>> found, p = difference_within_layers(effects, chosen, [0] * 4 + [1] * 4)
    >>> found, 0.05 < p < 0.08                                        # 1/4 · 1/4 by hand: 0.0625
    (4.0, True)
    """
    if chosen.all() or not chosen.any():
        return float("nan"), float("nan")
    rng = np.random.default_rng(seed)
    strata = [np.flatnonzero(np.asarray(layers) == layer) for layer in np.unique(layers)]

    def difference(labels: NDArray[np.bool_]) -> NDArray[np.float64]:
        n = labels.sum(axis=-1)
        total = effects.sum()
        inside = labels @ effects
        found: NDArray[np.float64] = inside / n - (total - inside) / (effects.size - n)
        return found

    labels = np.empty((n_permutations, effects.size), dtype=bool)
    for members in strata:
        keys = rng.random((n_permutations, members.size)).argsort(axis=1)
        labels[:, members] = chosen[members][keys]
    ours = float(difference(chosen))
    # what differs by rounding alone is as large
    n_as_large = int((difference(labels) >= ours - 1e-12 * max(1.0, abs(ours))).sum())
    return ours, (1 + n_as_large) / (1 + n_permutations)


@analysis("role_effect", tables=("roles", "ablation"), order=70)
def role_effect(run: Run) -> None:
    """Compares how much the loss changes without heads that have a role and without the others.

    The table `role_effect` has a row per edit and role (`any role` first): the mean |Δloss| of
    heads with it and of all other heads, their difference, and the p-value of a permutation test
    within layers, corrected over roles by Benjamini–Hochberg. |Δ| because a head matters also if
    the model is better off without it.
    """
    roles: dict[str, set[tuple[str, int, int]]] = {ANY: set()}
    for row in run.table("roles").to_pylist():
        if row["assigned"]:
            head = (row["stack"], row["layer"], row["head"])
            roles[ANY].add(head)
            roles.setdefault(row["role"], set()).add(head)
    measured: dict[str, list[dict[str, Any]]] = {}
    for row in run.table("ablation").to_pylist():
        if row["metric"] == "loss" and row["head"] is not None and row["delta"] is not None:
            measured.setdefault(row["edit"], []).append(row)
    rows: list[dict[str, Any]] = []
    for edit, own in measured.items():
        effects = np.abs(np.array([row["delta"] for row in own], dtype=np.float64))
        layers = np.array([row["layer"] for row in own])
        names = [(row["stack"], row["layer"], row["head"]) for row in own]
        for role, heads in roles.items():
            chosen = np.array([name in heads for name in names])
            found, p_value = difference_within_layers(effects, chosen, layers)
            rows.append(
                {
                    "edit": edit,
                    "role": role,
                    "mean_with": float(effects[chosen].mean()) if chosen.any() else float("nan"),
                    "mean_without": float(effects[~chosen].mean())
                    if (~chosen).any()
                    else float("nan"),
                    "difference": found,
                    "p_value": p_value,
                    "n_with": int(chosen.sum()),
                    "n_without": int((~chosen).sum()),
                }
            )
    if rows:
        columns: dict[str, Any] = {name: [row[name] for row in rows] for name in rows[0]}
        columns["q_value"] = benjamini_hochberg(columns["p_value"])
        run.add_table("role_effect", columns)
