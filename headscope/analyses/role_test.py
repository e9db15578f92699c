"""Which roles a head has: a test of every head's mean score for every role."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.sieve_scores import KeptScores, RoleMeans, kept_scores, role_means
from headscope.errors import UsageError
from headscope.stats import (
    benjamini_hochberg,
    bootstrap_p_value,
    holm,
    mean_interval,
    mean_test,
    skewness,
)
from headscope.store import Run
from headscope.types import HeadId

Correction: TypeAlias = Literal["bh", "holm", "none"]


@dataclass(frozen=True, slots=True)
class RoleTestOptions:
    """How roles are tested. `tau="auto"` is the smallest integer above the mean of all scores."""

    tau: float | Literal["auto"] = 3.0
    alpha: float = 0.05
    test: Literal["z", "t"] = "z"
    correction: Correction = "bh"
    skewed: float = 1.0
    n_resamples: int = 999
    seed: int = 0

    def __post_init__(self) -> None:
        if self.tau != "auto" and not (math.isfinite(self.tau) and self.tau > 0):
            raise UsageError(f"--tau {self.tau}: expected a number above 0, or auto")
        if not 0 < self.alpha < 1:
            raise UsageError(f"--alpha {self.alpha}: expected a number between 0 and 1")


@dataclass(frozen=True, eq=False)
class RoleTest:
    """Every head × role with its test; all arrays have one element per row.

    `test` is "z" or "t", or "anytime" for a run that stopped as soon as its roles were decided at
    this τ: there `p_value` is 1/E of the betting test, valid whenever the pass stopped.
    """

    options: RoleTestOptions
    tau: float
    test: str
    correction: str
    means: RoleMeans
    ci_low: NDArray[np.float64]
    ci_high: NDArray[np.float64]
    z: NDArray[np.float64]
    p_value: NDArray[np.float64]
    q_value: NDArray[np.float64]
    assigned: NDArray[np.bool_]
    skewness: NDArray[np.float64]
    p_bootstrap: NDArray[np.float64]
    note: str = ""

    @property
    def disagrees(self) -> NDArray[np.bool_]:
        """Where the bootstrap, before any correction, decides otherwise than the test."""
        alpha = self.options.alpha
        checked = ~np.isnan(self.p_bootstrap) & ~np.isnan(self.p_value)
        return np.asarray(checked & ((self.p_value <= alpha) != (self.p_bootstrap <= alpha)))

    @property
    def share_between(self) -> float:
        """The share of p-values in (0.05, 0.95): tests that say neither yes nor no."""
        known = self.p_value[~np.isnan(self.p_value)]
        return float(((known > 0.05) & (known < 0.95)).mean()) if known.size else float("nan")

    @property
    def role_names(self) -> list[str]:
        return list(dict.fromkeys(self.means.roles))

    def heads(self, role: str) -> list[HeadId]:
        """The heads that have a role."""
        rows = zip(self.means.heads, self.means.roles, self.assigned.tolist(), strict=True)
        return sorted(head for head, name, yes in rows if yes and name == role)

    def unskilled(self) -> list[HeadId]:
        """The heads that have no role at all."""
        skilled = {h for h, yes in zip(self.means.heads, self.assigned, strict=True) if yes}
        return sorted(set(self.means.heads) - skilled)

    def table(self) -> Mapping[str, Any]:
        """The columns of the table `roles`."""
        n_rows = len(self.means.roles)
        return {
            "stack": [head.stack for head in self.means.heads],
            "layer": [head.layer for head in self.means.heads],
            "head": [head.head for head in self.means.heads],
            "role": list(self.means.roles),
            "mean": self.means.mean,
            "ci_low": self.ci_low,
            "ci_high": self.ci_high,
            "z": self.z,
            "p_value": self.p_value,
            "q_value": self.q_value,
            "assigned": self.assigned,
            "n": self.means.n,
            "effect": self.means.mean / self.tau,
            "skewness": self.skewness,
            "p_bootstrap": self.p_bootstrap,
            "bootstrap_disagrees": self.disagrees,
            "tau": np.full(n_rows, self.tau),
            "alpha": np.full(n_rows, self.options.alpha),
            "test": [self.test] * n_rows,
            "correction": [self.correction] * n_rows,
        }


def automatic_tau(mean_score: float) -> float:
    """The smallest integer above the mean of all scores (Pande et al. 2021, p. 5).

    >>> automatic_tau(2.8), automatic_tau(2.0)
    (3.0, 3.0)
    """
    if not math.isfinite(mean_score):
        raise UsageError("--tau auto: the run has no scores to take a mean of")
    return math.floor(mean_score) + 1.0


def role_test(
    run: Run, options: RoleTestOptions | None = None, *, kept: KeptScores | None = None
) -> RoleTest:
    """Test every head's mean score for every role against τ; no model and no new pass is needed.

        H0: mean ≤ τ,   z = (mean − τ) / (std / √N),   upper tail

    over the N sequences that have the role; then Benjamini–Hochberg over all heads × roles, or
    Holm, or none: a head has a role if the corrected value is ≤ α. The raw p-value is kept. The
    interval of the mean is Student's, 95 %, the effect size mean/τ. Where the kept scores are
    skewed (|skewness| > 1) the bootstrap of t checks the test. Sequences are taken as independent;
    those of one document may not be. A head without a role is one for which the test found too
    little, not one that was shown to lack it.

    Source: Pande et al. 2021, "Hypothesis Testing" and "Assigning functional roles to heads"; they
    correct for nothing (`correction="none"`), and their released code uses Student's t.
    """
    options = options or RoleTestOptions()
    means = role_means(run)
    tau = automatic_tau(means.mean_score) if options.tau == "auto" else float(options.tau)
    ci_low, ci_high = mean_interval(means.mean, means.std, means.n)
    z, p_value = mean_test(means.mean, means.std, means.n, tau, options.test)
    test: str = options.test
    correction: str = options.correction
    note = ""
    stopped = stopping(run)
    if stopped is not None and stopped["tau"] == tau and "sieve_evidence" in run.tables:
        p_value = np.exp(-np.maximum(run.table("sieve_evidence")["log_e_value"].to_numpy(), 0.0))
        q_value = np.minimum(p_value * int(stopped["n_tests"]), 1.0)
        test, correction = "anytime", "bonferroni"
        note = "the pass stopped when its roles were decided: p-values are those of that test"
    else:
        q_value = _corrected(p_value, options.correction)
        if stopped is not None:
            note = (
                f"the pass stopped by looking at scores against tau = {stopped['tau']:g}; "
                "a test against another threshold is close to right, but not exact"
            )
    skew, p_bootstrap = _checked(means, kept or kept_scores(run), tau, options)
    assigned = np.nan_to_num(q_value, nan=1.0) <= options.alpha
    return RoleTest(
        options, tau, test, correction, means, ci_low, ci_high, z, p_value, q_value, assigned,
        skew, p_bootstrap, note,
    )  # fmt: skip


def stopping(run: Run) -> Mapping[str, Any] | None:
    """Where and by which rule the pass stopped early; None if it went through the corpus."""
    told = (run.record.model_extra or {}).get("stopping")
    return told if isinstance(told, Mapping) else None


def _corrected(p_value: NDArray[np.float64], correction: Correction) -> NDArray[np.float64]:
    if correction == "bh":
        return benjamini_hochberg(p_value)
    return holm(p_value) if correction == "holm" else p_value.copy()


def _checked(
    means: RoleMeans, kept: KeptScores | None, tau: float, options: RoleTestOptions
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Skewness of the kept scores, and the bootstrap's p-value where they are skewed."""
    skew = np.full(len(means.roles), np.nan)
    p_bootstrap = np.full(len(means.roles), np.nan)
    if kept is None:
        return skew, p_bootstrap
    head_at = {head: i for i, head in enumerate(kept.heads)}
    columns = np.array([head_at.get(head, -1) for head in means.heads])
    names = np.array(means.roles, dtype=object)
    for j, role in enumerate(kept.roles):
        rows = np.flatnonzero((names == role) & (columns >= 0))
        scores = kept.values[:, columns[rows], j].astype(np.float64)
        scores = scores[~np.isnan(scores).any(axis=1)]  # a text has a role for all heads or none
        if len(scores) < 2:
            continue
        skew[rows] = skewness(scores)
        skewed = np.flatnonzero(np.abs(np.nan_to_num(skew[rows])) > options.skewed)
        if skewed.size and options.n_resamples:
            p_bootstrap[rows[skewed]] = bootstrap_p_value(
                scores[:, skewed], tau, n_resamples=options.n_resamples, seed=options.seed
            )
    return skew, p_bootstrap
