"""Every registered value obeys the laws that make one process equal to many."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from headscope.values import (
    VALUES,
    Bundle,
    Counts,
    Example,
    Histogram,
    Moments,
    Reservoir,
    Sample,
    Sum,
    TopK,
    Value,
    pack,
    unpack,
)

WIDTH = 3
numbers = st.floats(-1e6, 1e6, allow_subnormal=False)
samples = hnp.arrays(
    np.float64,
    st.tuples(st.integers(0, 6), st.just(WIDTH)),
    elements=st.one_of(numbers, st.just(float("nan"))),
)
texts = st.text(max_size=5)
scores = st.one_of(numbers, st.sampled_from([0.0, -0.0, float("inf"), float("nan")]))
examples = st.lists(st.builds(Example, texts, scores, texts), max_size=6)
whole = hnp.arrays(np.int64, WIDTH, elements=st.integers(0, 10**9))

#: How to make values of each kind that may be added to each other.
STRATEGIES: dict[str, st.SearchStrategy[Any]] = {
    "moments": samples.map(Moments.of),
    "sum": hnp.arrays(np.float64, WIDTH, elements=numbers).map(Sum),
    "counts": st.builds(lambda hits, misses: Counts(hits, hits + misses), whole, whole),
    "histogram": samples.map(lambda x: Histogram.of(x, edges=[-1e5, 0.0, 1.0, 1e5])),
    "reservoir": examples.map(lambda items: Reservoir.of(items, k=3, seed=7)),
    "sample": st.lists(st.tuples(texts, st.tuples(numbers, numbers)), max_size=6).map(
        lambda items: Sample.of(
            [name for name, _ in items],
            np.array([row for _, row in items]).reshape(len(items), 2),
            k=3,
            seed=7,
        )
    ),
    "top_k": examples.map(lambda items: TopK.of(items, k=3)),
}
STRATEGIES["bundle"] = st.builds(
    Bundle,
    st.fixed_dictionaries(
        {},
        optional={
            "counts": STRATEGIES["counts"],
            "ü/…": STRATEGIES["moments"],
            "inner": STRATEGIES["top_k"].map(lambda value: Bundle({"top": value})),
        },
    ),
)
EXACT = {"counts", "histogram", "reservoir", "top_k"}

kinds = pytest.mark.parametrize("kind", sorted(STRATEGIES))


def close(a: Value, b: Value) -> bool:
    """Equal up to the rounding of a few additions of numbers up to 1e6."""
    one, two = a.to_arrays(), b.to_arrays()
    return one.keys() == two.keys() and all(_close(key, one[key], two[key]) for key in one)


def _close(key: str, a: Any, b: Any) -> bool:
    if key.endswith(("total", "centre")):
        return bool(np.allclose(a, b, rtol=1e-12, atol=1e-8))
    if key.endswith("m2"):
        # M2 carries the rounding of the mean times the spread: eps · n · 1e6 · √M2.
        return bool(np.all(np.abs(a - b) <= 1e-12 * a + 1e-8 * np.sqrt(a) + 1e-12))
    return bool(a.tobytes() == b.tobytes())


def same(a: Value, b: Value) -> bool:
    """The same numbers; 0.0 and -0.0 are one number."""
    one, two = a.to_arrays(), b.to_arrays()
    return one.keys() == two.keys() and all(
        np.array_equal(one[key], two[key], equal_nan=True) for key in one
    )


def test_every_kind_is_tested() -> None:
    built_in = {k for k in VALUES if VALUES[k].__module__.startswith("headscope.")}
    assert built_in == set(STRATEGIES)
    assert all(VALUES[kind].kind == kind for kind in VALUES)


@kinds
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_empty_is_neutral(kind: str, data: st.DataObject) -> None:
    a = data.draw(STRATEGIES[kind])
    assert same(a.empty_like() + a, a)
    assert same(a + a.empty_like(), a)
    assert a.empty_like().empty_like().identical(a.empty_like())


@kinds
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_adding_is_associative_and_commutative(kind: str, data: st.DataObject) -> None:
    a, b, c = (data.draw(STRATEGIES[kind]) for _ in range(3))
    left, right, swapped = (a + b) + c, a + (b + c), b + a
    if kind in EXACT:
        assert left.identical(right)
        assert swapped.identical(a + b)
    else:
        assert close(left, right)
        assert close(swapped, a + b)


@kinds
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_adding_mutates_nothing(kind: str, data: st.DataObject) -> None:
    a, b = data.draw(STRATEGIES[kind]), data.draw(STRATEGIES[kind])
    before = [{k: v.tobytes() for k, v in x.to_arrays().items()} for x in (a, b)]
    _ = a + b, a.empty_like()
    assert [{k: v.tobytes() for k, v in x.to_arrays().items()} for x in (a, b)] == before


@kinds
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_round_trip_keeps_every_bit(kind: str, data: st.DataObject) -> None:
    a = data.draw(STRATEGIES[kind])
    arrays = a.to_arrays()
    assert all(array.dtype.kind in "iuf" for array in arrays.values())
    assert type(a).from_arrays(arrays).identical(a)
    packed, description = pack({"surface/self/3": a, "": a.empty_like()})
    back = unpack(packed, description)
    assert list(back) == ["surface/self/3", ""]
    assert back["surface/self/3"].identical(a)
    assert back[""].identical(a.empty_like())


@settings(max_examples=60, deadline=None)
@given(
    offset=st.sampled_from([0.0, 1.0, -1e6, 1e9]),
    parts=st.lists(
        hnp.arrays(
            np.float64,
            st.tuples(st.integers(0, 5), st.just(2)),
            elements=st.one_of(st.integers(-64, 64).map(lambda i: i / 8), st.just(float("nan"))),
        ),
        min_size=1,
        max_size=6,
    ),
)
def test_moments_of_parts_are_moments_of_all(offset: float, parts: list[Any]) -> None:
    merged = reduce(add, (Moments.of(part + offset) for part in parts))
    x = np.concatenate(parts)
    for column in range(2):
        present = x[~np.isnan(x[:, column]), column]
        assert merged.n[column] == len(present)
        if len(present) == 0:
            assert np.isnan(merged.mean[column])
        else:
            assert merged.mean[column] == pytest.approx(present.mean() + offset, rel=1e-14)
        if len(present) < 2:
            assert np.isnan(merged.variance[column])
        else:
            # Eighths are exact in binary also at an offset of 1e9, so the variance is known.
            expected = present.var(ddof=1)
            assert merged.variance[column] == pytest.approx(expected, rel=1e-6, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 10**6), unique=True, max_size=30), st.randoms())
def test_samples_do_not_depend_on_sharding(ids: list[int], random: Any) -> None:
    items = [Example(f"s{i}", float(i % 5), f"text {i}") for i in ids]
    cut = random.randint(0, len(items))
    shuffled = random.sample(items, len(items))
    for make in (lambda x: Reservoir.of(x, k=4), lambda x: TopK.of(x, k=4)):
        assert (make(shuffled[cut:]) + make(shuffled[:cut])).identical(make(items))
