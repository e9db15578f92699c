"""Roles of a finished run: against scipy, by hand, and on the command line."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats
from typer.testing import CliRunner

from headscope.analyses import run_analyses
from headscope.analyses.role_overlaps import role_overlaps, spearman
from headscope.analyses.role_test import RoleTestOptions, automatic_tau, role_test
from headscope.analyses.roles import add_roles
from headscope.analyses.sieve_scores import kept_scores, role_means
from headscope.cli.app import app
from headscope.errors import RunError, UsageError
from headscope.figures import available, draw, render_report
from headscope.store import Run
from headscope.types import HeadId
from tests.planted import HEADS


def _rows(run: Run) -> dict[tuple[int, str, str], dict[str, Any]]:
    rows = run.table("roles").to_pylist()
    return {(r["layer"], HEADS[r["head"]], r["role"]): r for r in rows}


def test_roles_are_there_right_after_the_pass(planted_run: Run) -> None:
    assert {"roles", "role_overlaps", "score_quantiles"} <= set(planted_run.tables)


def test_planted_heads_have_the_roles_planted(planted_run: Run) -> None:
    """By hand: all weight on one key scores n ≥ 13; on two or three n/2 … n/3; everywhere 1."""
    rows = _rows(planted_run)
    lengths = [13]  # the shortest pair
    for layer in (0, 1):
        assert rows[layer, "cls", "cls"]["assigned"]
        assert rows[layer, "cls", "cls"]["mean"] > min(lengths)
        assert rows[layer, "sep", "sep"]["assigned"]
        assert not rows[layer, "cls", "sep"]["assigned"]
        assert rows[layer, "cls", "sep"]["mean"] == pytest.approx(0.0, abs=1e-5)
        assert rows[layer, "previous", "prev_local"]["assigned"]
        assert rows[layer, "next", "next_local"]["assigned"]
        assert not rows[layer, "previous", "next_local"]["assigned"]
        for role in ("local", "cls", "sep", "delimiter", "block", "prev_local", "next_local"):
            row = rows[layer, "everywhere", role]
            assert row["mean"] == pytest.approx(1.0, abs=1e-5)
            assert not row["assigned"]
            assert row["p_value"] == pytest.approx(1.0)
    unskilled = role_test(planted_run).unskilled()
    assert {HeadId(layer, HEADS.index("everywhere")) for layer in (0, 1)} <= set(unskilled)


@pytest.mark.parametrize("test", ["z", "t"])
@pytest.mark.parametrize("tau", [2.0, 3.0])
def test_p_values_are_scipys_on_the_single_scores(planted_run: Run, tau: float, test: Any) -> None:
    kept = kept_scores(planted_run)
    assert kept is not None
    assert len(kept.sequences) == 60
    found = role_test(planted_run, RoleTestOptions(tau=tau, test=test, correction="none"))
    for i, (head, role) in enumerate(zip(found.means.heads, found.means.roles, strict=True)):
        scores = kept.values[:, kept.heads.index(head), kept.roles.index(role)].astype(float)
        scores = scores[~np.isnan(scores)]
        assert found.means.n[i] == len(scores)
        assert found.means.mean[i] == pytest.approx(scores.mean(), rel=1e-5, abs=1e-6)
        if scores.std() < 1e-5:
            continue
        t = (scores.mean() - tau) / (scores.std(ddof=1) / math.sqrt(len(scores)))
        expected = stats.norm.sf(t) if test == "z" else stats.t.sf(t, len(scores) - 1)
        assert found.z[i] == pytest.approx(t, rel=1e-3, abs=1e-3)
        assert found.p_value[i] == pytest.approx(expected, rel=2e-2, abs=1e-6)


def test_corrections(planted_run: Run) -> None:
    plain = role_test(planted_run, RoleTestOptions(correction="none"))
    bh = role_test(planted_run, RoleTestOptions(correction="bh"))
    holm = role_test(planted_run, RoleTestOptions(correction="holm"))
    np.testing.assert_array_equal(plain.p_value, bh.p_value)
    np.testing.assert_array_equal(plain.q_value, plain.p_value)
    np.testing.assert_allclose(bh.q_value, stats.false_discovery_control(bh.p_value))
    assert holm.assigned.sum() <= bh.assigned.sum() <= plain.assigned.sum()
    assert (holm.q_value >= bh.q_value - 1e-12).all()


def test_tau_auto(planted_run: Run) -> None:
    means = role_means(planted_run)
    kept = kept_scores(planted_run)
    assert kept is not None
    assert means.mean_score == pytest.approx(np.nanmean(kept.values.astype(float)), rel=1e-5)
    found = role_test(planted_run, RoleTestOptions(tau="auto"))
    assert found.tau == automatic_tau(means.mean_score) == math.floor(means.mean_score) + 1


def test_bootstrap_checks_skewed_scores_only(planted_run: Run) -> None:
    found = role_test(planted_run)
    checked = ~np.isnan(found.p_bootstrap)
    assert checked.any()
    assert (np.abs(found.skewness[checked]) > 1).all()
    off = role_test(planted_run, RoleTestOptions(n_resamples=0))
    assert np.isnan(off.p_bootstrap).all()
    assert not off.disagrees.any()


def test_overlaps_by_hand(planted_run: Run) -> None:
    found = role_test(planted_run)
    table = role_overlaps(found, kept_scores(planted_run))
    pairs = {
        (a, b): i for i, (a, b) in enumerate(zip(table["role_a"], table["role_b"], strict=True))
    }
    sets = {role: set(found.heads(role)) for role in found.role_names}
    for (a, b), i in pairs.items():
        both, either = sets[a] & sets[b], sets[a] | sets[b]
        assert (table["n_a"][i], table["n_both"][i]) == (len(sets[a]), len(both))
        if either:
            assert table["jaccard"][i] == len(both) / len(either)
        else:
            assert math.isnan(table["jaccard"][i])
    means = role_means(planted_run)
    by = {(h, r): m for h, r, m in zip(means.heads, means.roles, means.mean, strict=True)}
    heads = sorted({h for h, r in by if r == "cls"})
    i = pairs["cls", "delimiter"]
    expected = stats.spearmanr([by[h, "cls"] for h in heads], [by[h, "delimiter"] for h in heads])
    assert table["spearman_heads"][i] == pytest.approx(expected.statistic, abs=1e-9)


def test_spearman_without_spread_is_no_data() -> None:
    assert math.isnan(spearman(np.ones(5), np.arange(5.0)))
    assert math.isnan(spearman(np.ones(2), np.ones(2)))


def test_the_command_line_needs_no_new_pass(analyzed: Callable[..., Run]) -> None:
    run = analyzed()
    sieve = (run.path / "tables" / "sieve.parquet").read_bytes()
    runner = CliRunner()
    for options, tau in ((["--tau", "2"], 2.0), (["--tau", "auto"], None), ([], 3.0)):
        done = runner.invoke(app, ["roles", str(run.path), "--json", *options])
        assert done.exit_code == 0, done.output
        told = json.loads(done.output)
        expected = role_test(run, RoleTestOptions(tau=tau or "auto"))
        assert told["tau"] == expected.tau
        assert told["mean_score"] == pytest.approx(expected.means.mean_score)
        assert told["roles"]["cls"] == [str(h) for h in expected.heads("cls")]
        assert "1-4" in told["roles"]["cls"]
        assert set(told["absent"]) >= {"syntactic", "nsubj"}
        assert run.table("roles")["tau"][0].as_py() == expected.tau
    strict = runner.invoke(app, ["roles", str(run.path), "--test", "t", "--correction", "holm"])
    assert "t test" in strict.output
    assert "correction holm" in strict.output
    assert (run.path / "tables" / "sieve.parquet").read_bytes() == sieve
    assert "The roles of every head" in (run.path / "report.html").read_text()


def test_bad_requests(planted_run: Run, analyzed: Callable[..., Run]) -> None:
    for wrong in ({"tau": -1.0}, {"tau": float("nan")}, {"alpha": 1.0}):
        with pytest.raises(UsageError):
            RoleTestOptions(**wrong)
    done = CliRunner().invoke(app, ["roles", str(planted_run.path), "--tau", "three"])
    assert isinstance(done.exception, UsageError) or done.exit_code == 2
    no_scores = analyzed(parameters={"keep": 0})
    assert kept_scores(no_scores) is None
    assert np.isnan(add_roles(no_scores).p_bootstrap).all()


def test_runs_without_sieves_are_refused(planted_run: Run, tmp_path: Any) -> None:
    class Bare:
        path, tables = tmp_path, ("surface",)

    with pytest.raises(RunError, match="no scores of roles"):
        role_means(Bare())  # type: ignore[arg-type]


def test_pictures(planted_run: Run) -> None:
    names = {f.name for f in available(planted_run)}
    assert {"skill_grid", "role_layers", "role_overlaps", "role_scores"} <= names
    for name in ("skill_grid", "role_layers", "role_overlaps", "role_scores"):
        picture = draw(planted_run, name)
        assert picture.sentence.endswith(".")
        assert "nan" not in picture.sentence
        assert picture.themed()["config"]
    squares = draw(planted_run, "skill_grid").chart.datasets["squares"]
    assert len(squares) == int(role_test(planted_run).assigned.sum())
    report = render_report(planted_run)
    assert "Which roles come together" in report


def test_the_seam_runs_what_fits(analyzed: Callable[..., Run]) -> None:
    run = analyzed(parameters={"roles": "cls,sep"})
    assert "roles" in run_analyses(run)
    assert set(run.table("roles")["role"].to_pylist()) == {"cls", "sep"}
