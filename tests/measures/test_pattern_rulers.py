"""The labeller's rulers: against a loop from the definition, and as the network sees them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from headscope.measures.patterns.as_text import as_text
from headscope.measures.patterns.cuts import CELLS, CUTS, contrasts
from headscope.measures.patterns.labelled_maps import (
    as_image,
    pooled,
    rows_to_one,
    shipped_maps,
)
from headscope.measures.patterns.resampling import SIZE, overlaps, resampled
from headscope.measures.patterns.rulers import LIMIT, brightness, is_causal, rulers
from headscope.measures.patterns.seeing import LAYERS, seen, seen_maps
from headscope.measures.patterns.synthetic import synthetic_map
from headscope.measures.patterns.visibility import looks_like


def naive(pattern: NDArray[np.float32]) -> tuple[list[float], dict[int, float]]:
    """Columns and near diagonals, cell by cell."""
    n = len(pattern)
    full = max(float(np.quantile(pattern, 0.995)), 1e-9)
    beyond = {j - i for i in range(n) for j in range(n) if j > i and pattern[i, j] > 0}
    reach = max(beyond, default=0) if max(beyond, default=0) <= 1 else n - 1
    causal = reach < n - 1
    bright = [[min(1.0, float(w) / full) ** 0.5 for w in row] for row in pattern]
    level = [float(np.median([bright[i][j] for j in range(n) if j - i <= reach])) for i in range(n)]

    def mean(cells: list[tuple[int, int]]) -> float:
        if len(cells) < max(3, n / 4):
            return float("nan")
        return float(np.mean([bright[i][j] - level[i] for i, j in cells]))

    columns = [
        mean([(i, j) for i in range(n) if j - i <= reach and abs(j - i) > 1]) for j in range(n)
    ]
    first = n // 8 if causal else 0
    diagonals = {
        k: mean([(i, i + k) for i in range(first, n) if 0 <= i + k < n and k <= reach])
        for k in range(1 - n, n)
    }
    usual, straight = np.nanmedian(columns), np.nanmedian(list(diagonals.values()))
    near = {k: v - straight for k, v in diagonals.items() if abs(k) <= max(2, n // 8)}
    return [c - usual for c in columns], near


@pytest.mark.parametrize("n", [5, 8, 13, 31, 64])
@pytest.mark.parametrize("kind", ["full", "causal", "pooled causal"])
def test_rulers_agree_with_a_loop(n: int, kind: str) -> None:
    rng = np.random.default_rng(n)
    made = rng.dirichlet(np.full(n, 0.3), size=n).astype(np.float32)
    if kind == "causal":
        made = rows_to_one(np.tril(made + 1e-3))
    if kind == "pooled causal":
        long = 2 * n + 1
        made = pooled(rows_to_one(np.tril(rng.random((long, long)) ** 6)), n)
        assert np.triu(made, 1).any()
    found = rulers(made)
    columns, diagonals = naive(made)
    np.testing.assert_allclose(found.columns, columns, atol=1e-5)
    assert found.offsets.tolist() == list(diagonals)
    np.testing.assert_allclose(found.diagonals, list(diagonals.values()), atol=1e-5)


def test_a_column_counts_from_the_limit_on() -> None:
    """Weights whose square roots are known: a third above the rest, and a fourth above it."""
    for height, counts in ((1 / 3, True), (1 / 4, False)):
        bright = np.full((16, 16), 0.5)
        bright[:, 4] += height
        bright[[0, 1, 2], [9, 12, 15]] = 1.0  # the brightest half percent
        found = rulers(bright**2)
        assert found.columns[4] == pytest.approx(height, abs=0.01)
        assert bool(found.columns[4] >= LIMIT) is counts
        assert found.marks == (counts, False)


def test_rulers_in_words() -> None:
    line = np.roll(np.eye(9), -1, axis=0)
    assert str(rulers(line)) == "no column stands out; diagonals: +1"
    both = rows_to_one(np.eye(9) + np.eye(9)[[3] * 9])
    assert str(rulers(both)) == "columns that stand out: 4; diagonals: 0"


def test_maps_of_a_few_tokens_have_rulers_that_say_nothing() -> None:
    for n in (1, 2, 3):
        assert rulers(np.full((n, n), 1 / n)).marks == (False, False)


def test_brightness_is_numpys_quantile() -> None:
    maps = [one for one in shipped_maps("training").maps if len(one) == 64][:5]
    shown = brightness(torch.from_numpy(np.stack(maps)), torch.full((5,), 64))
    for one, found in zip(maps, shown, strict=True):
        wanted = np.sqrt(np.clip(one / np.quantile(one, 0.995), 0, 1))
        np.testing.assert_allclose(found.numpy(), wanted, atol=1e-4)


def test_the_network_sees_maps_alike_alone_and_padded_in_a_batch() -> None:
    rng = np.random.default_rng(0)
    lengths = [9, 40, 64, 90, 128]
    padded = torch.from_numpy(rng.random((5, 2, 128, 128)).astype(np.float32))
    maps = []
    for i, n in enumerate(lengths):
        padded[i, :, :n, n:] = 0
        padded[i, :, :n] /= padded[i, :, :n].sum(dim=-1, keepdim=True)
        maps.append(padded[i, :, :n, :n].numpy())
    together = seen(padded, torch.tensor(lengths)).view(5, 2, LAYERS, SIZE, SIZE)
    for found, one in zip(together, maps, strict=True):
        np.testing.assert_allclose(found, seen_maps(one), atol=1e-6)


def test_what_the_network_sees_are_the_image_and_the_rulers_the_labeller_sees() -> None:
    for one in shipped_maps("test").maps[:60]:
        image, columns, diagonals, rows = seen_maps([one])[0]
        cells = overlaps(torch.tensor([len(one)]), len(one))
        np.testing.assert_array_equal(
            image, resampled(torch.from_numpy(one)[None, None], cells, cells)[0, 0]
        )
        found = rulers(one)
        assert columns.max() == max(np.nanmax(found.columns), 0)
        assert diagonals.max() == max(np.nanmax(found.diagonals), 0)
        assert (columns == columns[0]).all()
        assert (rows == rows[:, :1]).all()
        coarse = torch.from_numpy(as_image(one, CELLS))[None]
        highest = contrasts(coarse, torch.tensor([is_causal(one)])).max()
        assert rows.max() == pytest.approx(max(highest.item(), 0), abs=1e-5)
        for k in (-5, 0, 7):
            line = torch.diagonal(diagonals, k)
            assert (line == line[0]).all()


@pytest.mark.parametrize("causal", [False, True])
def test_the_contrast_of_a_cut_agrees_with_a_loop(causal: bool) -> None:
    rng = np.random.default_rng(1)
    image = rng.dirichlet(np.full(CELLS, 0.5), size=CELLS).astype(np.float32)
    image = np.tril(image) if causal else image
    bright = np.sqrt(np.clip(image / np.quantile(image, 0.995), 0, 1))
    found = contrasts(torch.from_numpy(image)[None], torch.tensor([causal]))[0]
    for cut, value in zip(CUTS, found.tolist(), strict=True):
        differences = []
        for distance in range(4, min(cut, CELLS - cut) + 6):
            sides: dict[bool, list[float]] = {True: [], False: []}
            for i in range(CELLS):
                for j in range(1, CELLS):
                    if (i - j if causal else abs(i - j)) == distance:
                        sides[(i >= cut) == (j >= cut)].append(float(bright[i, j]))
            if min(map(len, sides.values())) > 3:
                differences.append(np.mean(sides[True]) - np.mean(sides[False]))
        assert value == pytest.approx(np.mean(differences), abs=1e-5)


def test_a_band_has_no_cuts_and_squares_have_one() -> None:
    token = np.arange(40)
    band = rows_to_one((np.abs(token[:, None] - token) < 6).astype(np.float32))
    squares = rows_to_one(((token[:, None] < 20) == (token < 20)).astype(np.float32))
    assert seen_maps([band])[0, 3].max() < 0.03
    rows = seen_maps([squares])[0, 3, :, 0]
    assert rows.max() > 0.9
    assert rows.argmax() in (23, 24)


def test_made_up_maps_bear_the_name_the_rulers_give_them() -> None:
    wanted = {"vertical": (True, False), "diagonal": (False, True), "heterogeneous": (False, False)}
    for pattern, marks in wanted.items():
        made = [synthetic_map(pattern, seed) for seed in range(20)]
        fitting = [one for one in made if looks_like(pattern, one)]
        assert len(fitting) >= 19
        assert all(rulers(pooled(one)).marks == marks for one in fitting)


def test_a_map_in_the_terminal_is_as_bright_as_on_the_page() -> None:
    text = as_text(np.array([[0.5, 0.5], [0.0, 1.0]], np.float32))
    assert text.splitlines() == ["▓▓▓▓", "  ██"]
