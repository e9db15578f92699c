"""Looking after every batch does not break the error guarantee."""

from __future__ import annotations

import numpy as np
import pytest

from headscope.stats import asymptotic_upper, decide, log_bets, log_e_value
from headscope.stats.early_decision import STAKES

TAU, ALPHA = 3.0, 0.05

#: Scores of mean exactly τ, from harmless to nasty: the nulls at which errors are most likely.
NULLS = {
    "gamma": lambda rng, shape: rng.gamma(2.0, TAU / 2.0, shape),
    "right-skewed": lambda rng, shape: rng.lognormal(np.log(TAU) - 0.5, 1.0, shape),
    "left-skewed": lambda rng, shape: np.where(rng.random(shape) < 0.05, 0.0, TAU / 0.95),
    "heavy": lambda rng, shape: TAU / 3 * (1 + rng.pareto(1.5, shape)),
}


def _wealth_after_batches(x: np.ndarray, batch: int) -> np.ndarray:
    """log E after every batch, [look, run], for scores [time, run]."""
    n_looks = len(x) // batch
    sums = np.stack([log_bets(x[i * batch : (i + 1) * batch], TAU) for i in range(n_looks)])
    return log_e_value(np.cumsum(sums, axis=0))


@pytest.mark.parametrize("null", NULLS)
def test_false_assignments_stay_under_alpha_when_peeking(null: str) -> None:
    """500 null heads, a look after every 10 of 600 sequences, stop at the first yes."""
    x = NULLS[null](np.random.default_rng(11), (600, 500))
    ever = (_wealth_after_batches(x, 10) >= np.log(1 / ALPHA)).any(axis=0)
    # At most α are false; 500 trials of a rate of 5 % exceed 7.5 % with probability < 1 %.
    assert ever.mean() <= 0.075


def test_a_fixed_sample_test_does_break_when_peeking() -> None:
    """The same looks with the z test: more than α are wrong, so the simulation can fail."""
    x = NULLS["gamma"](np.random.default_rng(11), (600, 500))
    n = np.arange(10, 601, 10)
    mean = np.cumsum(x, axis=0)[n - 1] / n[:, None]
    std = np.stack([x[:k].std(axis=0, ddof=1) for k in n])
    z = (mean - TAU) / (std / np.sqrt(n)[:, None])
    assert (z > 1.645).any(axis=0).mean() > 0.15


def test_family_wise_over_heads_and_roles() -> None:
    """60 families of 40 null pairs: a family errs if any pair is ever assigned."""
    rng = np.random.default_rng(5)
    errs = 0
    for _ in range(60):
        log_e = _wealth_after_batches(rng.gamma(1.5, TAU / 1.5, (300, 40)), 30)
        errs += bool((log_e >= np.log(40 / ALPHA)).any())
    assert errs <= 8  # 60 families at 5 %: more than 8 has probability < 0.5 %


def test_ruled_out_is_rarely_wrong_at_the_threshold() -> None:
    """Mean exactly τ, looks after every 10, burn-in 50: `below` is wrong at most about α."""
    x = NULLS["gamma"](np.random.default_rng(7), (600, 400))
    wrong = np.zeros(400, dtype=bool)
    for n in range(10, 601, 10):
        found = decide(
            np.full(400, -9.0), x[:n].mean(0), x[:n].std(0, ddof=1), np.full(400, n),
            tau=TAU, alpha=ALPHA, n_tests=1,
        )  # fmt: skip
        wrong |= found == -1
    assert wrong.mean() <= 0.08


def test_clear_heads_are_decided_soon() -> None:
    rng = np.random.default_rng(9)
    high, low = rng.gamma(4.0, 1.5, (150, 200)), rng.gamma(4.0, 0.25, (150, 200))  # means 6, 1
    for x, expected in ((high, 1), (low, -1)):
        found = decide(
            log_e_value(log_bets(x, TAU)), x.mean(0), x.std(0, ddof=1), np.full(200, 150),
            tau=TAU, alpha=ALPHA, n_tests=1080,
        )  # fmt: skip
        assert (found == expected).mean() > 0.97


def test_capital_is_the_plain_product() -> None:
    x = np.array([2.0, 5.0, np.nan, 0.0, 9.0])
    capital = [np.prod([1 + s / TAU * (v - TAU) for v in x if v == v]) for s in STAKES]
    np.testing.assert_allclose(np.exp(log_bets(x, TAU)), capital, rtol=1e-12)
    np.testing.assert_allclose(np.exp(log_e_value(log_bets(x, TAU))), np.mean(capital), rtol=1e-12)


def test_evidence_adds_over_shards_in_any_order() -> None:
    x = np.random.default_rng(0).gamma(2.0, 2.0, (90, 3))
    parts = [log_bets(x[i : i + 30], TAU) for i in (60, 0, 30)]
    np.testing.assert_allclose(sum(parts), log_bets(x, TAU), rtol=1e-12)


def test_upper_bound_shrinks_and_refuses_nonsense() -> None:
    bounds = asymptotic_upper(1.0, 1.0, np.array([1, 10, 100, 1000]), 0.05)
    assert np.isnan(bounds[0])
    assert (np.diff(bounds[1:]) < 0).all()
    with pytest.raises(ValueError, match="alpha"):
        asymptotic_upper(1.0, 1.0, 10, 0.0)
    with pytest.raises(ValueError, match="negative"):
        log_bets([-0.1], TAU)
    with pytest.raises(ValueError, match="tau"):
        log_bets([0.1], 0.0)
