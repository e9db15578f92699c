"""A value that went through a checkpoint is the value, bit for bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from headscope.store import ModelRecord, RunRecord, RunWriter
from headscope.values import Bundle, Counts, Example, Histogram, Moments, TopK, Value, pack, unpack


def test_values_survive_a_checkpoint(tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(9, 2, 3))
    x[:, 0, 0] = np.nan
    values: dict[str, Value] = {
        "surface/self/3": Moments.of(x),
        "heads/Ü <b>": Bundle(
            {
                "nsubj": Counts.of(x > 0),
                "none": Bundle({}),
                "top": TopK.of([Example("s1", -0.0, "a\ud800\0🙂")], k=2),
            }
        ),
        "entropy": Histogram.of(x, edges=[-1.0, 0.0, 1.0]),
    }
    record = RunRecord(model=ModelRecord(name="tiny"))
    with RunWriter.open(tmp_path / "run", record) as writer:
        writer.save_shard(0, *pack(values))
    with RunWriter.open(tmp_path / "run", record, resume=True) as writer:
        assert writer.finished_shards() == {0}
        back = unpack(*writer.load_shard(0))
    assert list(back) == list(values)
    assert all(back[name].identical(value) for name, value in values.items())
    assert all((back[name] + value).kind == value.kind for name, value in values.items())
