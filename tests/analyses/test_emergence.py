"""Roles over checkpoints, from tables made by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from headscope.analyses.emergence import ANY, emergence, training_steps, write_emergence
from headscope.errors import RunError, UsageError
from headscope.figures import draw
from headscope.store import CorpusRecord, ModelRecord, Run, RunRecord, RunWriter, open_run
from headscope.types import Result


def checkpoint(folder: Path, name: str, local: list[float], corpus: str = "texts") -> Run:
    """A run of two heads whose mean scores are given; 100 sequences, standard deviation 1."""
    roles = ["local", "local", "cls", "cls"]
    table = {
        "layer": [0, 0, 0, 0],
        "head": [0, 1, 0, 1],
        "role": roles,
        "mean": [*local, 1.0, 1.0],
        "std": [1.0] * 4,
        "n": [100] * 4,
    }
    record = RunRecord(model=ModelRecord(name=name), corpus=CorpusRecord(fingerprint=corpus))
    with RunWriter.open(folder / name, record) as writer:
        writer.complete({"sieve": Result(tables={"sieve": table})}, record)
    return open_run(folder / name)


def test_heads_get_a_role_on_the_way(tmp_path: Path) -> None:
    runs = [
        checkpoint(tmp_path, "ckpt-200", [5.0, 4.0]),
        checkpoint(tmp_path, "ckpt-0", [1.0, 1.0]),
        checkpoint(tmp_path, "ckpt-30", [1.0, 4.0]),
    ]
    found = emergence(runs)
    rows = [dict(zip(found, row, strict=True)) for row in zip(*found.values(), strict=True)]
    local = [r for r in rows if r["role"] == "local"]
    assert [r["step"] for r in local] == [0, 30, 200]
    assert [r["n_heads"] for r in local] == [0, 1, 2]
    assert [r["share"] for r in local] == [0.0, 0.5, 1.0]
    assert [r["mean_score"] for r in local] == [1.0, 2.5, 4.5]
    assert [r["share"] for r in rows if r["role"] == ANY] == [0.0, 0.5, 1.0]
    assert all(r["n_heads"] == 0 for r in rows if r["role"] == "cls")

    run = write_emergence(runs, tmp_path / "all")
    picture = draw(run, "emergence")
    assert "0 heads of 2 have a role at step 0 and 2 at step 200" in picture.sentence
    assert "local (2 heads), half of it reached by step 30" in picture.sentence
    assert picture.table is not None
    assert picture.table.rows[0] == ("local", "0 (1.00)", "1 (2.50)", "2 (4.50)")


def test_without_numbers_the_order_counts(tmp_path: Path) -> None:
    runs = [checkpoint(tmp_path, name, [1.0, 1.0]) for name in ("first", "second")]
    assert training_steps(runs) == [1, 2]
    picture = draw(write_emergence(runs, tmp_path / "all"), "emergence")
    assert picture.sentence == "No head has a role at any checkpoint up to step 2."


def test_what_cannot_be_put_in_order_is_refused(tmp_path: Path) -> None:
    one = checkpoint(tmp_path, "a-1", [1.0, 1.0])
    with pytest.raises(UsageError, match="two checkpoints or more"):
        emergence([one])
    other = checkpoint(tmp_path, "a-2", [1.0, 1.0], corpus="other texts")
    with pytest.raises(RunError, match="cannot be compared"):
        emergence([one, other])
