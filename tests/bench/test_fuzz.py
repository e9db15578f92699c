"""Every reader reads or refuses whatever it is given; `python -m bench.fuzz` gives it far more."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench.fuzz.spoil import PIECES, spoilt
from bench.fuzz.targets import targets
from bench.fuzz.trial import HangError, time_guard, tried
from headscope.corpora import READERS

TARGETS = targets()
fast = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def test_no_reader_is_forgotten() -> None:
    assert set(READERS) <= set(TARGETS)


@pytest.mark.parametrize("name", sorted(set(TARGETS) - {"detection", "probing"}))
def test_the_files_that_are_spoilt_are_good(name: str, tmp_path: Path) -> None:
    target = TARGETS[name]
    for content in target.seeds:
        verdicts = {tried(target, content, tmp_path, random.Random(i)) for i in range(8)}
        assert "read" in verdicts, content[:80]  # pairs, for one, need an even number


@pytest.mark.parametrize("name", sorted(TARGETS))
@fast
@given(seed=st.integers(0, 2**32))
def test_spoilt_files(name: str, seed: int) -> None:
    target, rng = TARGETS[name], random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        assert tried(target, spoilt(target.seeds, rng), Path(folder), rng) in ("read", "refused")


@pytest.mark.parametrize("name", sorted(TARGETS))
@fast
@given(
    raw=st.one_of(
        st.binary(max_size=200),
        st.lists(st.sampled_from(PIECES), max_size=12).map(b"".join),
        st.text(max_size=80).map(lambda text: text.encode("utf-8", "surrogatepass")),
    )
)
def test_bytes_that_are_nothing(name: str, raw: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = tried(TARGETS[name], raw, Path(folder), random.Random(0))
        assert found in ("read", "refused")


def test_a_hang_is_noticed() -> None:
    def for_ever() -> None:
        with time_guard(0.05):
            while True:
                pass

    with pytest.raises(HangError):
        for_ever()
