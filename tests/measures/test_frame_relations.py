"""Frame relations: filters by hand, values and baseline against loops, planted heads."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from headscope.engine import Settings
from headscope.engine.shard import add, run_shard
from headscope.measures import Total
from headscope.measures.frame_links import (
    Filters,
    drawn_places,
    frame_links,
    kept_elements,
)
from headscope.measures.frame_relations import FrameRelations
from headscope.types import Encoded, Frame
from tests.planted import HEADS, encode_planted, expected_pattern, planted


def frame(target: tuple[int, int], *elements: tuple[int, int]) -> Frame:
    return Frame("Any", target, tuple((f"E{i}", *span) for i, span in enumerate(elements)))


# words:            0   1   2   3  4   5   6   7   8  9  (the period)
SENTENCE = "The cat saw the red bird under the tree."
SAW = encode_planted(SENTENCE, name="saw", frames=(frame((2, 3), (0, 1), (4, 6)),))
TWICE = encode_planted(
    "A mouse sat on the mouse. The old dog ran under the playing cats.",
    name="twice",
    sentences=(0, 7),
    frames=(frame((1, 2), (5, 6)), frame((10, 11), (13, 15)), frame((9, 10), (7, 8))),
)
SEQUENCES = [SAW, TWICE]


@pytest.mark.parametrize(
    ("elements", "filters", "kept"),
    [
        ([(0, 1), (4, 6)], Filters(), [(0, 1), (4, 6)]),
        ([(1, 2), (4, 6)], Filters(), []),  # "cat" stands right before "saw"
        ([(1, 2), (4, 6)], Filters(drop="element"), [(4, 6)]),
        ([(1, 2), (4, 6)], Filters(min_apart=1), [(1, 2), (4, 6)]),
        ([(4, 8)], Filters(), []),  # four words
        ([(4, 8)], Filters(max_element=4), [(4, 8)]),
        ([(0, 1)], Filters(max_sentence=9), []),  # the sentence has ten words
        ([(0, 1)], Filters(max_sentence=10), [(0, 1)]),
        ([(2, 3)], Filters(min_apart=1), []),  # the target itself
        ([], Filters(), []),
    ],
)
def test_filters(elements: list[tuple[int, int]], filters: Filters, kept: list) -> None:
    assert kept_elements(SAW.sequence, frame((2, 3), *elements), filters) == kept


def test_a_frame_is_measured_inside_its_own_sentence() -> None:
    links = [one for group in frame_links(TWICE, Filters()) for one in group]
    first = [i for i, w in enumerate(TWICE.words) if 0 <= w < 7]
    second = [i for i, w in enumerate(TWICE.words) if w >= 7]
    for link, own in zip(links, (first, second, second), strict=True):
        for shift in (link.least, link.most):
            assert all(own[0] <= t <= own[-1] for pair in link.pairs(shift) for t in pair)
        edges = [t for s in (link.least, link.most) for pair in link.pairs(s) for t in pair]
        assert (min(edges), max(edges)) == (own[0], own[-1])
        assert link.least <= 0 <= link.most
    assert links[1].element[1] - links[1].element[0] == 4  # "playing cats" is play ##ing cat ##s


def finished(sequences: list[Encoded], settings: Settings, **parameters: int) -> dict:
    model, measure = planted(), FrameRelations(**parameters)
    values = run_shard(model, [measure], sequences, settings)
    total = Total(model.layout, {place: v for (_, place), v in values.items()})
    return dict(measure.finish(total).tables["frames"])


def weight(pattern: np.ndarray, pairs: list[tuple[int, int]]) -> float:
    return max(max(pattern[a, b], pattern[b, a]) for a, b in pairs)


def test_values_and_baseline_agree_with_loops() -> None:
    n_draws = 50
    table = finished(SEQUENCES, Settings(), n_draws=n_draws, seed=7)
    for head in range(len(HEADS)):
        observed, sums = [], np.zeros(n_draws)
        for one in SEQUENCES:
            pattern = expected_pattern(one)[head]
            for number, links in enumerate(frame_links(one, Filters())):
                observed.append(max(weight(pattern, list(link.pairs(0))) for link in links))
                drawn = drawn_places(one.sequence.id, number, links, n_draws, 7)
                for draw in range(n_draws):
                    moved = [
                        weight(pattern, list(link.pairs(link.least + int(drawn[draw, i]))))
                        for i, link in enumerate(links)
                    ]
                    sums[draw] += max(moved)
        row = head + len(HEADS)  # layer 2, the same as layer 1
        assert table["n"][row] == len(observed) == 4
        assert table["mean_max"][row] == pytest.approx(np.mean(observed), abs=1e-6)
        assert table["baseline"][row] == pytest.approx(sums.mean() / 4, abs=1e-6)
        reached = (sums >= np.sum(observed) - 1e-6).sum()
        assert table["p_value"][row] == pytest.approx((1 + reached) / (1 + n_draws))


def test_places_of_a_link_are_drawn_evenly() -> None:
    (links,) = frame_links(SAW, Filters())
    drawn = drawn_places("saw", 0, links, 20_000, 0)
    for i, link in enumerate(links):
        counts = np.bincount(drawn[:, i], minlength=link.n_places)
        assert link.n_places > 3
        assert counts / 20_000 == pytest.approx(1 / link.n_places, abs=0.015)


def test_only_heads_that_know_the_link_are_above_the_baseline() -> None:
    """Each frame links the two occurrences of one word; distances vary from text to text."""
    words = ("cat", "dog", "bird", "mouse", "tree", "house")
    sequences = []
    for i, (word, gap) in enumerate(product(words, (2, 3, 4))):
        others = [w for w in ("red", "old", "big", "small", "she", "he", "her") if w != word]
        text = " ".join(["on", word, *others[: gap - 1], word, "ate", "it", "and", "ran"])
        sequences.append(
            encode_planted(text, name=f"s{i}", frames=(frame((1, 2), (1 + gap, 2 + gap)),))
        )
    table = finished(sequences, Settings())
    above = {HEADS[h] for h, flag in zip(table["head"], table["above"], strict=True) if flag}
    assert above == {"same_word"}
    row = HEADS.index("same_word")
    assert table["mean_max"][row] == pytest.approx(1.0, abs=1e-6)
    assert table["p_value"][row] == pytest.approx(1 / 1000)
    everywhere = HEADS.index("everywhere")
    assert table["p_value"][everywhere] == 1.0  # every draw ties


def test_draws_do_not_depend_on_how_the_corpus_is_cut() -> None:
    model, measure = planted(), FrameRelations(n_draws=30)
    whole = run_shard(model, [measure], SEQUENCES, Settings())
    parts = run_shard(model, [measure], SEQUENCES[1:], Settings())
    add(parts, run_shard(model, [measure], SEQUENCES[:1], Settings()))
    for key, value in whole.items():
        a, b = value.part("drawn", object), parts[key].part("drawn", object)  # type: ignore[attr-defined]
        assert a.total == pytest.approx(b.total, abs=1e-5)


def test_no_frame_is_no_data() -> None:
    bare = encode_planted("the cat sat", name="bare", frames=())
    table = finished([bare], Settings())
    assert np.isnan(table["mean_max"]).all()
    assert np.isnan(table["p_value"]).all()
    assert not np.any(table["above"])
    assert list(table["n"]) == [0] * 16


def test_a_frame_that_fills_its_sentence_cannot_be_tested() -> None:
    full = encode_planted("she saw it", name="full", frames=(frame((0, 1), (2, 3)),))
    table = finished([full], Settings())
    assert set(table["n"]) == {1}
    assert set(table["n_movable"]) == {0}
    assert np.isnan(table["p_value"]).all()
    assert table["baseline"] == pytest.approx(table["mean_max"])
