"""What a probe sees: vectors in their own units, or in units of their spread."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from headscope.probes.features import Features
from headscope.probes.logistic import Problems, fit_logistic

N_ROWS, WIDTH = 200, 5


def two_heads(fainter: float) -> tuple[np.ndarray, torch.Tensor]:
    """The same head twice, the second time `fainter` times as strong; and labels it tells."""
    random = np.random.default_rng(0)
    head = random.normal(size=(N_ROWS, WIDTH))
    told = torch.from_numpy((head[:, 0] + 0.3 * random.normal(size=N_ROWS) > 0).astype(np.int64))
    return np.hstack([head, fainter * head]).astype(np.float16), told


def accuracies(features: Features, told: torch.Tensor) -> list[float]:
    block = features.block([slice(0, WIDTH), slice(WIDTH, 2 * WIDTH)])
    fitted = fit_logistic(block, Problems(told[None], torch.full((2, 1), 0.1), 2))
    return [float((said[0] == told).float().mean()) for said in fitted.predict(block)]


def test_in_units_of_their_spread_a_faint_head_is_as_good_as_a_strong_one() -> None:
    rows, told = two_heads(fainter=2.0**-8)  # a power of two: float16 keeps every digit
    index = np.arange(N_ROWS)
    strong, faint = accuracies(Features(rows, index), told)
    assert faint < strong  # the penalty keeps the faint one from saying anything
    assert faint == pytest.approx(float((told == told.mode().values).float().mean()))
    strong, faint = accuracies(Features(rows, index, unit_on=index), told)
    assert strong == faint > 0.85


def test_only_the_rows_learnt_from_set_the_unit() -> None:
    rows, _ = two_heads(fainter=1.0)
    index, learn = np.arange(N_ROWS), np.arange(50)
    once = Features(rows, index, unit_on=learn).block([slice(0, WIDTH)])
    rows[50:] *= 3
    again = Features(rows, index, unit_on=learn).block([slice(0, WIDTH)])
    torch.testing.assert_close(once[:, :, :50], again[:, :, :50])
    flat = Features(np.ones((4, 2), np.float16), np.arange(4), unit_on=np.arange(4))
    assert (flat.block([slice(0, 2)]) == 1).all()
