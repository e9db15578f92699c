"""Stopping early: the same decisions, deterministic, resumable, recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headscope.analyses.role_test import role_test
from headscope.corpora import Corpus, ShuffledCorpus
from headscope.engine import Settings, UntilDecided, analyze, choose_measures
from headscope.errors import UsageError
from headscope.models import LoadedModel
from headscope.store import Run, RunWriter

_WORDS = ("the cat sat", "a dog ran under the tree", "she saw it", "he ate , and the bird ran")


def _corpus(n: int = 400) -> Corpus:
    return Corpus.of([(_WORDS[i % 4] + " .", _WORDS[(i // 4) % 4] + " ?") for i in range(n)])


def _analyze(model: LoadedModel, output: Path, rule: UntilDecided | None, **options: Any) -> Run:
    settings = Settings(shard_size=32, until_decided=rule)
    measures = choose_measures(["sieve"], {"sieve": {"roles": "cls,sep,prev_local,next_local"}})
    return analyze(model, _corpus(), output, measures=measures, settings=settings, **options)


def test_it_stops_early_and_agrees_with_the_whole(
    planted_bert: LoadedModel, tmp_path: Path
) -> None:
    rule = UntilDecided(tau=3.0)
    early, whole = (
        _analyze(planted_bert, tmp_path / "early", rule),
        _analyze(planted_bert, tmp_path / "whole", None),
    )
    told = early.record.model_extra["stopping"]
    assert told["n_decided"] == told["n_pairs"] == 2 * 8 * 4
    assert told["n_tests"] == 64
    assert told["log_e_boundary"] == pytest.approx(np.log(64 / 0.05))
    assert told["n_sequences"] < 200 < told["n_planned"] == 400
    assert early.record.counts["n_sequences"] == told["n_sequences"]
    assert any("decided after" in note for note in early.record.notes)
    assert set(early.table("sieve")["n"].to_pylist()) == {told["n_sequences"]}
    a, b = role_test(early), role_test(whole)
    assert (a.test, b.test) == ("anytime", "z")
    assert a.means.roles == b.means.roles
    np.testing.assert_array_equal(a.assigned, b.assigned)
    assert a.assigned.any()
    assert not a.assigned.all()


def test_it_is_deterministic_and_the_seed_matters(
    planted_bert: LoadedModel, tmp_path: Path
) -> None:
    runs = [
        _analyze(planted_bert, tmp_path / str(i), UntilDecided(seed=seed))
        for i, seed in enumerate((0, 0, 1))
    ]
    first, again, other = (
        (run.path / "tables" / "sieve_scores.parquet").read_bytes() for run in runs
    )
    assert first == again
    assert first != other


def test_a_killed_pass_resumes_to_the_same_stop(
    planted_bert: LoadedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule = UntilDecided()
    whole = _analyze(planted_bert, tmp_path / "whole", rule)
    real, calls = RunWriter.save_shard, []

    def killed(writer: RunWriter, index: int, arrays: Any, metadata: Any) -> None:
        real(writer, index, arrays, metadata)
        calls.append(index)
        if len(calls) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(RunWriter, "save_shard", killed)
    with pytest.raises(KeyboardInterrupt):
        _analyze(planted_bert, tmp_path / "killed", rule)
    resumed = _analyze(planted_bert, tmp_path / "killed", rule, resume=True)
    assert resumed.record.model_extra["stopping"] == whole.record.model_extra["stopping"]
    for table in ("sieve", "sieve_scores", "sieve_evidence", "roles"):
        name = f"tables/{table}.parquet"
        assert (resumed.path / name).read_bytes() == (whole.path / name).read_bytes()


def test_what_stays_open_takes_the_whole_corpus(planted_bert: LoadedModel, tmp_path: Path) -> None:
    """Every text alike: the cls head scores exactly 8 on cls, so τ = 8 is never decided."""
    corpus = Corpus.of(["the cat sat on it ." for _ in range(150)])
    rule = UntilDecided(tau=8.0)
    measures = choose_measures(["sieve"], {"sieve": {"roles": "cls"}})
    settings = Settings(until_decided=rule)
    run = analyze(planted_bert, corpus, tmp_path / "r", measures=measures, settings=settings)
    told = run.record.model_extra["stopping"]
    assert told["n_sequences"] == 150
    assert told["n_pairs"] - told["n_decided"] == 2
    shared = UntilDecided(tau=8.0, share=0.8)
    settings = Settings(until_decided=shared)
    run = analyze(planted_bert, corpus, tmp_path / "s", measures=measures, settings=settings)
    assert run.record.model_extra["stopping"]["n_sequences"] < 150


def test_it_needs_the_sieve(planted_bert: LoadedModel, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="sieve"):
        analyze(
            planted_bert,
            _corpus(8),
            tmp_path / "r",
            measures=choose_measures(["surface"]),
            settings=Settings(until_decided=UntilDecided()),
        )
    assert not (tmp_path / "r").exists()


def test_shuffled_corpora_are_permutations() -> None:
    corpus = _corpus(50)
    shuffled = ShuffledCorpus(corpus, seed=4)
    ids = [s.id for s in shuffled]
    assert sorted(ids) == sorted(s.id for s in corpus)
    assert ids != [s.id for s in corpus]
    assert [s.id for s in shuffled.sequences(10, 20)] == ids[10:20]
    assert [s.id for s in shuffled.sequences(45, 99)] == ids[45:]
    assert shuffled.scan().fingerprint == corpus.scan().fingerprint
