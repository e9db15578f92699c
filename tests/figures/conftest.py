"""Runs with made-up but plausible tables, written and read by the real store."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertModel

import headscope as hs
from headscope.models import load
from headscope.store import (
    CorpusRecord,
    ModelRecord,
    Request,
    Run,
    RunRecord,
    RunWriter,
    SkippedRecord,
    StackRecord,
    open_run,
)
from headscope.types import Result
from tests.planted import planted_tokenizer

Columns = dict[str, list[Any]]
Shape = tuple[str, int, int]
MakeRun = Callable[..., Run]

BERT = ("self", "prev", "next", "cls", "sep", "punct", "other", "sep_from_sep", "sep_from_other")
GPT = ("self", "prev", "first", "punct", "other")


def columns(rows: Sequence[Mapping[str, Any]]) -> Columns:
    return {name: [row[name] for row in rows] for name in rows[0]}


def plausible_tables(shapes: Sequence[Shape], targets: Sequence[str] = BERT) -> dict[str, Columns]:
    """Early heads look at neighbours, late heads at [SEP]; entropy falls, and rises from [CLS]."""
    rng = np.random.default_rng(7)
    surface: list[dict[str, Any]] = []
    entropy: list[dict[str, Any]] = []
    for stack, n_layers, n_heads in shapes:
        for layer, head in np.ndindex(n_layers, n_heads):
            depth = (layer + 1) / n_layers
            place = {"stack": stack, "layer": layer, "head": head}
            base = {"sep": (2 * depth + 0.2, 3.0), "sep_from_sep": (4.0, 2.0), "other": (4.0, 3.0)}
            for target in targets:
                mean = float(
                    rng.beta(*base.get(target, (0.5, 6.0 if rng.random() < 0.93 else 0.5)))
                )
                half = 0.005 + 0.02 * float(rng.random())
                ends = {"ci_low": max(0.0, mean - half), "ci_high": min(1.0, mean + half)}
                surface.append({**place, "target": target, "mean": mean, **ends, "n": 500})
            for rows in ("all", "cls") if "cls" in targets else ("all",):
                rise = 1.2 if rows == "cls" and layer == n_layers - 1 else 0.0
                mean = float(np.clip(3.2 - 2 * depth + rise + rng.normal(0, 0.4), 0.1, 3.8))
                ends = {"ci_low": mean - 0.05, "ci_high": mean + 0.05}
                entropy.append({**place, "rows": rows, "mean_nats": mean, **ends, "n": 500})
    return {"surface": columns(surface), "entropy": columns(entropy)}


@pytest.fixture(scope="session")
def make_run(tmp_path_factory: pytest.TempPathFactory) -> MakeRun:
    """Write a run and open it; `tables` replaces the plausible ones."""

    def make(
        shapes: Sequence[Shape] = (("self", 6, 12),),
        *,
        tables: Mapping[str, Columns] | None = None,
        targets: Sequence[str] = BERT,
        model: str = "all-MiniLM-L6-v2",
        corpus: str = "shipped English corpus",
        **fields: Any,
    ) -> Run:
        stacks = tuple(
            StackRecord(stack=s, n_layers=n_layers, n_heads=n_heads)
            for s, n_layers, n_heads in shapes
        )
        record = RunRecord(
            model=ModelRecord(
                name=model, family="bert", fingerprint="sha256:5f3c", stacks=stacks, dtype="float32"
            ),
            corpus=CorpusRecord(
                name=corpus, fingerprint="sha256:a1b2", n_sequences=500, files=("english.conllu",)
            ),
            request=Request.model_validate(
                {
                    "measures": [{"name": "surface"}, {"name": "entropy"}],
                    "settings": {"batch_tokens": 4096, "shard_size": 256},
                    "seeds": {"sample": 0},
                }
            ),
        )
        record = record.updated(
            **{
                "counts": {"n_sequences": 500, "n_tokens": 11873, "n_cut": 3},
                "notes": ["3 sequences were longer than 512 tokens and were cut at the end"],
                "timings": {"total": 41.3, "model": 3.2},
                "skipped": [SkippedRecord(name="coreference", reason="no mentions in the corpus")],
                **fields,
            }
        )
        path = tmp_path_factory.mktemp("figures") / "run"
        with RunWriter.open(path, record) as writer:
            found = plausible_tables(shapes, targets) if tables is None else tables
            writer.complete({"made": Result(tables=found)}, record)
        return open_run(path)

    return make


@pytest.fixture(scope="session")
def measured(tmp_path_factory: pytest.TempPathFactory) -> hs.Run:
    """A small untrained model of 12 × 12 heads, measured by the engine with all it has."""
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=40,
        hidden_size=96,
        num_hidden_layers=12,
        num_attention_heads=12,
        intermediate_size=96,
        max_position_embeddings=512,
    )
    model = load(BertModel(config).eval(), planted_tokenizer())
    return hs.analyze(model, hs.shipped_corpus(limit=8), tmp_path_factory.mktemp("twelve") / "run")
