"""What the picture of the parsing probes claims follows from its numbers."""

from __future__ import annotations

import pytest

from headscope.figures.gallery.parse_probe import Score, found


@pytest.mark.parametrize(
    ("baseline", "claim"),
    [
        ((0.50, 0.49, 0.51), "14.0 points above the best baseline (word vectors and distance"),
        ((0.63, 0.62, 0.64), "1.0 points above the best baseline"),
        ((0.64, 0.63, 0.65), "no more than the best baseline"),
        ((0.70, 0.69, 0.71), "6.0 points below the best baseline"),
    ],
)
def test_the_margin_is_said_as_it_is(baseline: tuple[float, float, float], claim: str) -> None:
    scores = [
        Score("attention", 0.64, 0.63, 0.65, 1000),
        Score("distance_vectors", *baseline, 1000),
        Score("right_branching", 0.3, 0.29, 0.31, 1000),
    ]
    sentence = found(sorted(scores, key=lambda s: -s.uas))
    assert claim in sentence
    assert ("overlap" in sentence) == (baseline[0] == 0.63)
