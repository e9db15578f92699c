"""What the roles cost in the pass, and how soon they are decided.

The second looks at 1,000 sentences of EWT from HEADSCOPE_DATA (by default the folder beside the
repository, as in the tests); without it, at the small shipped corpus.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bench.ratio import Line, compared
from bench.subject import annotated, bare_pass, bert_base, sequences
from headscope.corpora import Corpus, shipped_corpus
from headscope.engine import Settings, analyze, choose_measures
from headscope.engine.shard import run_shard
from headscope.models import DEFAULT, load
from headscope.stats import decide, log_bets, log_e_value
from headscope.types import Facts

SETTINGS = Settings()
_BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data"
TAU, ALPHA, N_SEQUENCES, LOOK_EVERY = 3.0, 0.05, 1000, 32


def lines() -> Iterator[Line]:
    yield _cost()
    yield from _early()


def _cost() -> Line:
    model, encoded = bert_base(), [annotated(e) for e in sequences(16, 128)]
    measures, facts = choose_measures(["sieve"]), Facts(word_counts={"w": 5, "v": 1})

    def ours() -> None:
        run_shard(model, measures, encoded, SETTINGS, facts)

    def bare() -> None:
        bare_pass(model, encoded)

    name = "analyze (sieve alone, 15 roles, with trees) / bare eager forward, 128 tokens"
    return compared(name, ours, bare, 1.15)


def _early() -> Iterator[Line]:
    """The scores of a whole pass, looked at in random order: who is decided when."""
    data = Path(os.environ.get("HEADSCOPE_DATA", _BESIDE))
    file = data / "dependencies" / "en_ewt-ud-dev.conllu"
    corpus = Corpus(file, limit=N_SEQUENCES) if file.is_file() else shipped_corpus()
    with tempfile.TemporaryDirectory() as temporary:
        run = analyze(
            load(DEFAULT),
            corpus,
            Path(temporary) / "run",
            measures=choose_measures(["sieve"]),
            max_tokens=64,
        )
        from headscope.analyses.sieve_scores import kept_scores

        kept = kept_scores(run)
        assert kept is not None
        order = np.random.default_rng(0).permutation(len(kept.values))
        scores = kept.values[order].astype(np.float64)
    n, n_pairs = len(scores), scores.shape[1] * scores.shape[2]
    reached: dict[float, int] = {}
    for size in [*range(LOOK_EVERY, n, LOOK_EVERY), n]:
        seen = scores[:size]
        count = (~np.isnan(seen)).sum(axis=0)
        total = np.where(np.isnan(seen), 0.0, seen).sum(axis=0)
        mean = total / np.maximum(count, 1)
        square = np.where(np.isnan(seen), 0.0, (seen - mean) ** 2).sum(axis=0)
        std = np.sqrt(square / np.maximum(count - 1, 1))
        evidence = log_e_value(log_bets(seen, TAU))
        found = decide(evidence, mean, std, count, tau=TAU, alpha=ALPHA, n_tests=n_pairs)
        share = float((found != 0).mean())
        for wanted in (0.5, 0.8, 0.9, 0.95, 0.99):
            if share >= wanted:
                reached.setdefault(wanted, size)
    for wanted, size in reached.items():
        name = f"sequences needed to decide {wanted:.0%} of {n_pairs:,} heads × roles / all {n:,}"
        yield Line(name, size / n, float("inf"))
    last = float((found != 0).mean())
    yield Line(f"heads × roles decided after all {n:,} sequences / all", last, float("inf"))
