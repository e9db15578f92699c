from __future__ import annotations

import numpy as np
import pytest

from headscope.values import Bundle, Counts, Example, Histogram, Reservoir, Sum, TopK


def test_counts() -> None:
    c = Counts.of([[1, 0, np.nan], [1, 1, np.nan]])
    assert c.counts.tolist() == [2, 1, 0]
    assert c.trials is not None
    assert c.trials.tolist() == [2, 2, 0]
    np.testing.assert_array_equal(c.proportion, [1.0, 0.5, np.nan])
    assert (Counts([1]) + Counts([2])).counts.tolist() == [3]
    with pytest.raises(ValueError, match="with trials and Counts without"):
        _ = Counts([1]) + Counts([1], [1])
    with pytest.raises(ValueError, match="more successes"):
        Counts([2], [1])
    with pytest.raises(ValueError, match="whole"):
        Counts([0.5])
    with pytest.raises(ValueError, match="0, 1 or NaN"):
        Counts.of([2.0])
    with pytest.raises(ValueError, match="no proportion"):
        _ = Counts([1]).proportion
    with pytest.raises(ValueError, match="cannot have"):
        Counts([1], [1, 2])


def test_histogram_against_numpy() -> None:
    x = np.random.default_rng(0).normal(0, 1, (400, 2, 3))
    x[0] = [[-1.0, 1.0, 0.5]] * 2  # on the edges
    edges = [-1.0, 0.0, 0.5, 1.0]
    h = Histogram.of(x, edges)
    for i in range(2):
        for j in range(3):
            expected, _ = np.histogram(x[:, i, j], edges)
            assert h.counts[i, j].tolist() == expected.tolist()
            assert h.under[i, j] == (x[:, i, j] < -1).sum()
            assert h.over[i, j] == (x[:, i, j] > 1).sum()
    assert (h.n == 400).all()
    assert Histogram.of(x, edges, axis=2).shape == (400, 2)


def test_histogram_refuses_other_edges() -> None:
    with pytest.raises(ValueError, match="edges"):
        _ = Histogram.of([1.0], [0, 1]) + Histogram.of([1.0], [0, 2])
    with pytest.raises(ValueError, match="increasing"):
        Histogram.of([1.0], [1, 0])
    with pytest.raises(ValueError, match="shape"):
        Histogram(np.array([0.0, 1.0]), *(np.zeros(2, np.int64),) * 4)


def test_infinities_are_outside() -> None:
    h = Histogram.of([-np.inf, np.inf, np.nan], [0, 1])
    assert (int(h.under), int(h.over), int(h.n_nan), int(h.n)) == (1, 1, 1, 2)


def test_reservoir_is_uniform() -> None:
    # Each of 10 items is among the 3 kept in 3/10 of the seeds: 600 ± 4·√(2000·0.3·0.7) ≈ ±82.
    items = [Example(f"s{i}", 0.0, "") for i in range(10)]
    kept = [e.id for seed in range(2000) for e in Reservoir.of(items, k=3, seed=seed).examples]
    counts = np.unique(kept, return_counts=True)[1]
    assert len(counts) == 10
    assert np.all(np.abs(counts - 600) < 82)


def test_reservoir_is_the_same_for_ever() -> None:
    # A stored sample must still be the sample in the next release.
    items = [Example(f"s{i}", 0.0, "") for i in range(100)]
    assert [e.id for e in Reservoir.of(items, k=3, seed=0).examples] == ["s25", "s87", "s34"]


def test_unlike_samples_are_refused() -> None:
    with pytest.raises(ValueError, match="seed"):
        _ = Reservoir(3, seed=1) + Reservoir(3, seed=2)
    with pytest.raises(ValueError, match="TopK with k 1 and 2"):
        _ = TopK(1) + TopK(2)
    with pytest.raises(ValueError, match="at least one"):
        TopK(0)
    with pytest.raises(ValueError, match="at least one"):
        Reservoir(0)


def test_top_k_ignores_nan_and_breaks_ties_by_id() -> None:
    items = [
        Example("c", 1.0, ""),
        Example("a", 1.0, ""),
        Example("n", np.nan, ""),
        Example("b", 2.0, ""),
    ]
    assert [e.id for e in TopK.of(items, k=3).examples] == ["b", "a", "c"]


def test_strings_survive_even_when_they_are_broken() -> None:
    strange = "a\ud800\0\n<b>&'\"\u202e🙂"
    value = TopK.of([Example(strange, 1.0, strange)], k=1)
    assert TopK.from_arrays(value.to_arrays()).examples == value.examples


def test_bundle_adds_by_name() -> None:
    a = Bundle({"x": Sum([1.0]), "y": Counts([1])})
    b = Bundle({"z": Sum([5.0]), "x": Sum([2.0])})
    total = a + b
    assert list(total) == ["x", "y", "z"]
    assert total.part("x", Sum).total.tolist() == [3.0]
    with pytest.raises(ValueError, match=r"part 'x': cannot add Sum of shape \(1,\) and \(2,\)"):
        _ = a + Bundle({"x": Sum([1.0, 2.0])})
    with pytest.raises(ValueError, match="part 'x': cannot add Sum and Counts"):
        _ = a + Bundle({"x": Counts([1])})
    with pytest.raises(TypeError, match="part 'y' is a Counts, not a Sum"):
        total.part("y", Sum)
    with pytest.raises(ValueError, match=r"cannot add Sum of shape"):
        _ = Sum([1.0]) + Sum([1.0, 2.0])
