"""The arithmetic behind what the bench says."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from bench.growth.exponents import exponent
from bench.memory_curve import stored_mebibytes
from bench.soak.clients import Asked
from bench.soak.verdict import growth, judged, risen
from bench.soak.watch import held


def test_exponents() -> None:
    sizes = [2, 4, 8, 16]
    assert exponent(sizes, [3.0 * n**2 for n in sizes]) == pytest.approx(2.0)
    assert exponent(sizes, [1.0] * 4) == pytest.approx(0.0)
    # only the largest sizes count: a fixed cost hides growth among the small ones
    assert exponent([1, 10, 100, 1000], [1.0, 1.0, 10.0, 100.0]) > 0.9


def test_slopes_ignore_peaks_and_see_creeping() -> None:
    time = np.arange(1000.0)
    flat = np.full(1000, 500.0)
    flat[::50] += 300
    assert growth(time, flat) == pytest.approx(1.0, abs=1e-3)
    assert growth(time, 500 + 0.1 * time) == pytest.approx(1.2, abs=0.01)
    noise = np.random.default_rng(0).exponential(10, 1000)
    assert risen(time, noise) == pytest.approx(1.0, abs=0.3)
    assert risen(time, noise * (1 + time / 250)) > 1.5


def test_stored_maps_of_bert_base() -> None:
    assert stored_mebibytes(1000, 144) * 2**20 == 1000 * 144 * 128 * 128 * 4


def test_a_leak_is_a_miss(tmp_path: Path) -> None:
    for name, leak in (("good", 0.0), ("leaking", 0.05)):
        folder = tmp_path / name
        folder.mkdir()
        samples = [
            {
                "time": t,
                "process": "serve",
                "mebibytes": 100 + leak * t,
                "n_files": 9,
                "n_threads": 3,
            }
            for t in range(0, 1000, 5)
        ]
        asked = [vars(Asked(t, "runs", 5.0, 200)) for t in range(0, 1000, 2)]
        for file, rows in (("samples", samples), ("requests", asked), ("rounds", [])):
            text = "".join(json.dumps(row) + "\n" for row in rows) + '{"cut off'
            (folder / f"{file}.jsonl").write_text(text)
    assert all(line.holds for line in judged(tmp_path / "good"))
    missed = [line.name for line in judged(tmp_path / "leaking") if not line.holds]
    assert missed == ["serve: growth of memory after the warm-up"]


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_what_a_process_holds() -> None:
    before = held(os.getpid())
    assert before is not None
    assert before.mebibytes > 10
    with Path(__file__).open():
        after = held(os.getpid())
        assert after is not None
        assert after.n_files == before.n_files + 1
    assert held(2**22 + 1) is None
