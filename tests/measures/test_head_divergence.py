"""Distances between heads: kernel, sampling, map, against independent arithmetic."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.spatial.distance import jensenshannon
from scipy.special import rel_entr

from headscope.engine import Settings
from headscope.engine.shard import run_shard
from headscope.errors import UsageError
from headscope.measures import ALL_LAYERS, Place, Total, build
from headscope.measures.head_divergence import sample_rows
from headscope.measures.head_geometry import layer_distances, map_of_heads
from headscope.measures.kernels.jensen_shannon import pairwise_js
from headscope.types import Encoded, Result
from tests.planted import HEADS, encode_planted, expected_pattern, planted

TEXTS = (
    "the dog played.",
    "she saw the big cat, and the cat ran under the old tree.",
    "who sees a mouse?",
    "he ate.",
    "the red bird sat on the house and the small dog ran.",
)


def softmax_rows(n_heads: int, n: int, seed: int = 0) -> NDArray[np.float32]:
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n_heads, n, n)) * rng.uniform(0.1, 6, size=(n_heads, 1, 1))
    e = np.exp(z - z.max(axis=-1, keepdims=True))
    return (e / e.sum(axis=-1, keepdims=True)).astype(np.float32)


def by_definition(p: NDArray[np.float32], q: NDArray[np.float32]) -> float:
    """Σ of ½ KL(p‖m) + ½ KL(q‖m) in float64."""
    a, b = p.astype(np.float64), q.astype(np.float64)
    m = (a + b) / 2
    return float(rel_entr(a, m).sum() + rel_entr(b, m).sum()) / 2


@pytest.mark.parametrize(("n_heads", "n"), [(2, 1), (5, 7), (13, 33), (24, 64)])
def test_kernel_is_exact_to_1e_5(n_heads: int, n: int) -> None:
    maps = softmax_rows(n_heads, n, seed=n)
    maps[-1] = maps[0] * np.float32(0.999) + np.float32(0.001 / n)  # almost the same head
    found = pairwise_js(maps[None])[0]
    pairs = zip(*np.triu_indices(n_heads, 1), strict=True)
    expected = [by_definition(maps[a], maps[b]) for a, b in pairs]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-12)


def test_kernel_on_rows_with_zeros_and_equal_rows() -> None:
    rows = np.array([[1, 0, 0], [0, 1, 0], [0.5, 0.5, 0], [0.5, 0.5, 0], [0, 1e-30, 1]], np.float32)
    found = pairwise_js(rows[None])[0]
    pairs = list(zip(*np.triu_indices(5, 1), strict=True))
    for value, (a, b) in zip(found, pairs, strict=True):
        expected = jensenshannon(rows[a].astype(float), rows[b].astype(float)) ** 2
        assert value == pytest.approx(expected, rel=1e-5, abs=1e-12)
    assert found[pairs.index((2, 3))] == 0.0


def test_threads_and_padding_do_not_change_a_bit() -> None:
    maps = np.stack([softmax_rows(9, 12, seed=s) for s in range(4)])
    alone = pairwise_js(maps)
    assert np.array_equal(alone, pairwise_js(maps, n_threads=3))
    padded = np.concatenate([maps, np.zeros((4, 9, 12, 5), np.float32)], axis=-1)
    np.testing.assert_allclose(pairwise_js(padded), alone, rtol=1e-6)


def test_sample_is_even_unbiased_and_depends_on_the_id_alone() -> None:
    ids = [f"s{i}" for i in range(4000)]
    sample = sample_rows(ids, np.full(4000, 23), 8)
    assert bool(sample.taken.all())
    assert bool((sample.rows.diff(dim=1) >= 2).all())  # evenly spaced: 23/8 apart
    share = np.bincount(sample.rows.flatten().numpy(), minlength=23) / sample.rows.numel()
    np.testing.assert_allclose(share, 1 / 23, atol=0.006)
    again = sample_rows(ids[100:101], np.array([23]), 8)
    assert torch.equal(again.rows[0], sample.rows[100])


def test_short_sequences_give_all_their_rows() -> None:
    sample = sample_rows(["a", "b"], np.array([3, 8]), 8)
    assert sample.rows[0, :3].tolist() == [0, 1, 2]
    assert sample.taken.sum(dim=1).tolist() == [3, 8]
    assert sample.rows[1].tolist() == list(range(8))


def measured(encoded: Sequence[Encoded], **parameters: object) -> Result:
    model = planted()
    measure = build("divergence", parameters)
    values = run_shard(model, [measure], encoded, Settings(batch_tokens=64))
    total = {place: value for (_, place), value in values.items()}
    assert list(total) == [Place("self", ALL_LAYERS)]
    return measure.finish(Total(model.layout, total))


def test_planted_heads_have_their_distances() -> None:
    encoded = [encode_planted(text, name=f"s{i}") for i, text in enumerate(TEXTS)]
    table = measured(encoded, rows="all").tables["divergence"]
    n = len(HEADS)
    maps = [np.concatenate([m, m]) for m in map(expected_pattern, encoded)]  # both layers alike
    n_rows = sum(one.n_tokens for one in encoded)
    for row, (a, b) in enumerate(zip(*np.triu_indices(2 * n, 1), strict=True)):
        assert table["layer_a"][row] * n + table["head_a"][row] == a
        assert table["layer_b"][row] * n + table["head_b"][row] == b
        expected = sum(by_definition(m[a], m[b]) for m in maps) / n_rows
        assert table["js_nats"][row] == pytest.approx(expected, rel=1e-5, abs=1e-7)
    copies = [
        js
        for js, a, b in zip(table["js_nats"], table["head_a"], table["head_b"], strict=True)
        if a == b
    ]
    assert len(copies) == n
    np.testing.assert_allclose(copies, 0.0, atol=1e-9)


def test_sampled_rows_estimate_the_exact_mean_within_their_error() -> None:
    rng = np.random.default_rng(5)
    words = ["the", "a", "cat", "dog", "ran", "saw", "red", "old", "she", "it", "and", ",", "tree"]
    texts = [" ".join(rng.choice(words, rng.integers(4, 30))) + "." for _ in range(80)]
    encoded = [encode_planted(text, name=f"r{i}") for i, text in enumerate(texts)]
    exact = measured(encoded, rows="all").tables["divergence"]
    table = measured(encoded, rows=3).tables["divergence"]
    error = np.array(table["js_nats"]) - np.array(exact["js_nats"])
    spread = np.array(table["se_nats"])
    wide = spread > 1e-6
    assert wide.sum() > 40
    z = error[wide] / spread[wide]
    assert np.abs(z).max() < 4
    assert not np.allclose(error, 0)


def test_batches_do_not_matter() -> None:
    encoded = [encode_planted(text, name=f"s{i}") for i, text in enumerate(TEXTS)]
    model, measure = planted(), build("divergence", {"rows": 4})
    tables = []
    for batch_tokens in (20, 4096):
        values = run_shard(model, [measure], encoded, Settings(batch_tokens=batch_tokens))
        total = Total(model.layout, {place: v for (_, place), v in values.items()})
        tables.append(measure.finish(total).tables["divergence"])
    np.testing.assert_allclose(tables[0]["js_nats"], tables[1]["js_nats"], rtol=1e-6, atol=1e-9)


def test_one_sequence_has_no_standard_error() -> None:
    table = measured([encode_planted(TEXTS[0])]).tables["divergence"]
    assert np.isnan(table["se_nats"]).all()
    assert np.isfinite(table["js_nats"]).all()


def test_map_keeps_distances_that_fit_on_a_plane() -> None:
    rng = np.random.default_rng(1)
    points = rng.normal(size=(12, 2)) * [3, 1]
    distance = np.linalg.norm(points[:, None] - points[None], axis=-1)
    found = map_of_heads(distance, seed=0)
    again = np.linalg.norm(found[:, None] - found[None], axis=-1)
    np.testing.assert_allclose(again, distance, atol=0.05)
    assert found[:, 0].std() > found[:, 1].std()
    assert np.array_equal(found, map_of_heads(distance, seed=0))


def test_layer_distances_by_loops_and_their_p_value() -> None:
    rng = np.random.default_rng(2)
    points = np.concatenate([rng.normal(0, 0.1, (6, 2)), rng.normal(0, 3, (12, 2))])
    distance = np.linalg.norm(points[:, None] - points[None], axis=-1)
    layer = np.repeat([0, 1, 2], 6)
    for row in layer_distances(distance, layer):
        mine = [i for i in range(18) if layer[i] == row["layer"]]
        others = [i for i in range(18) if layer[i] != row["layer"]]
        within = np.mean([distance[a, b] for a in mine for b in mine if a != b])
        across = np.mean([distance[a, b] for a in mine for b in others])
        assert row["within_nats"] == pytest.approx(within)
        assert row["across_nats"] == pytest.approx(across)
    p_values = [row["p_value"] for row in layer_distances(distance, layer)]
    assert p_values[0] < 0.01
    assert min(p_values[1:]) > 0.05


def test_the_command_line_gives_text() -> None:
    assert build("divergence", {"rows": "16"}).spec()["parameters"]["rows"] == 16
    assert build("divergence", {"rows": "all"}).spec()["parameters"]["rows"] == "all"


@pytest.mark.parametrize("rows", [0, -3, "some"])
def test_bad_rows_are_refused(rows: object) -> None:
    with pytest.raises(UsageError, match="divergence"):
        build("divergence", {"rows": rows})
