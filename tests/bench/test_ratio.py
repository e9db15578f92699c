"""How the bench comes to a verdict: more rounds where it is close, none where it is plain."""

from __future__ import annotations

import itertools

import pytest

from bench.ratio import MOST, Line, compared, decided, measured


def draws(*found: float):
    return itertools.cycle(found).__next__


def test_a_plain_ratio_takes_the_rounds_it_asked_for() -> None:
    line = measured("plain", draws(0.7, 0.9, 0.8), 1.0, rounds=5)
    assert line.holds
    assert line.rounds == (0.7, 0.9, 0.8, 0.7, 0.9)
    assert line.ratio == 0.8


@pytest.mark.parametrize(("usual", "holds"), [(0.98, True), (1.02, False)])
def test_a_close_ratio_goes_on_until_it_is_plain_on_either_side(usual: float, holds: bool) -> None:
    other = 2.0 - usual
    line = measured("close", draws(other, usual, usual, usual), 1.0, rounds=5)
    assert 5 < len(line.rounds) < MOST * 5
    assert line.holds is holds
    assert decided(line.rounds, 1.0)


def test_a_ratio_on_its_target_ends_after_the_most_rounds() -> None:
    line = measured("even", draws(0.9, 1.1), 1.0, rounds=3)
    assert len(line.rounds) == MOST * 3


def test_compared_warms_up_and_changes_the_order_of_the_two() -> None:
    asked: list[str] = []
    line = compared("a / b", lambda: asked.append("a"), lambda: asked.append("b"), 1e9, rounds=3)
    assert "".join(asked) == "ba" + "ab" + "ba" + "ab"
    assert len(line.rounds) == 3


def test_a_line_says_its_verdict_and_how_far_its_rounds_lay_apart() -> None:
    assert str(Line("x / y", 1.2, 1.1, rounds=(1.1, 1.2, 1.3))) == (
        "MISS     1.200  (target ≤  1.10)  x / y [1.100 to 1.300 in 3 rounds]"
    )
    assert str(Line("x / y", 1.0, float("inf"))).startswith("info")
