"""Opening a run of a large model (24 layers × 16 heads) and reading all of its tables."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from bench.ratio import Line, compared
from headscope.measures.surface_attention import TARGETS
from headscope.store import ModelRecord, RunRecord, RunWriter, StackRecord, open_run
from headscope.types import Result

N_LAYERS, N_HEADS = 24, 16
ROLES = ("local", "delimiter", "cls", "sep", "syntactic", "nsubj", "obj", "amod", "rare", "bpe")


def _heads(labels: tuple[str, ...], column: str) -> dict[str, Any]:
    """A row per head and label."""
    n_heads, n = N_LAYERS * N_HEADS, len(labels)
    head = np.repeat(np.arange(n_heads), n)
    return {
        "stack": np.full(n_heads * n, "self"),
        "layer": head // N_HEADS,
        "head": head % N_HEADS,
        column: np.tile(np.array(labels), n_heads),
    }


def write_run(folder: Path) -> None:
    """Tables as large as such a model's, with random numbers in them."""
    rng = np.random.default_rng(0)

    def numbers(like: dict[str, Any], *names: str) -> dict[str, Any]:
        n = len(like["layer"])
        return {**like, **{name: rng.random(n) for name in names}, "n": np.full(n, 1000)}

    n_heads = N_LAYERS * N_HEADS
    a, b = np.triu_indices(n_heads, 1)
    pairs = {
        "layer_a": a // N_HEADS, "head_a": a % N_HEADS,
        "layer_b": b // N_HEADS, "head_b": b % N_HEADS,
        "js_nats": rng.random(len(a)),
    }  # fmt: skip
    interval = ("ci_low", "ci_high")
    tables = {
        "surface": numbers(_heads(TARGETS, "target"), "mean", *interval),
        "entropy": numbers(_heads(("all", "cls"), "rows"), "mean_nats", *interval),
        "sieve": numbers(_heads(ROLES, "role"), "mean", "std"),
        "divergence": pairs,
    }
    stacks = (StackRecord(n_layers=N_LAYERS, n_heads=N_HEADS),)
    record = RunRecord(model=ModelRecord(name="large", stacks=stacks))
    with RunWriter.open(folder, record) as writer:
        writer.complete({"made": Result(tables=tables)}, record)


def lines() -> Iterator[Line]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "run"
        write_run(folder)

        def ours() -> None:
            run = open_run(folder)
            for table in run.tables:
                run.table(table)

        def bare() -> None:
            for file in sorted((folder / "tables").iterdir()):
                pq.read_table(file)

        name = "open a run of 24 × 16 heads and read its tables / pyarrow alone"
        yield compared(name, ours, bare, 2.0, rounds=21)
