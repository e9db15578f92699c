from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headscope.store import (
    CorpusRecord,
    ModelRecord,
    Run,
    RunRecord,
    RunWriter,
    StackRecord,
    open_run,
)
from headscope.types import Result

NAN = float("nan")
SURFACE = {
    "layer": [0, 0, 1],
    "head": [0, 1, 0],
    "target": ["prev", "prev", "prev"],
    "mean": [0.5, NAN, 0.25],
    "ci_low": [0.4, NAN, 0.2],
    "ci_high": [0.6, NAN, 0.3],
    "n": [10, 0, 10],
}


@pytest.fixture
def record() -> RunRecord:
    return RunRecord(
        model=ModelRecord(
            name="tiny<b>",
            fingerprint="m1",
            stacks=(StackRecord(n_layers=2, n_heads=2),),
        ),
        corpus=CorpusRecord(fingerprint="c1", n_sequences=3, files=("a.txt",)),
        request={
            "measures": [{"name": "surface", "version": 1, "parameters": {"smooth": 0.0}}],
            "settings": {"batch_size": 8},
        },
    )


@pytest.fixture
def make_run(tmp_path: Path, record: RunRecord) -> Callable[..., Run]:
    def make(name: str = "run", **tables: Any) -> Run:
        path = tmp_path / name
        with RunWriter.open(path, record) as writer:
            writer.complete({"surface": Result(tables=tables or {"surface": SURFACE})}, record)
        return open_run(path)

    return make
