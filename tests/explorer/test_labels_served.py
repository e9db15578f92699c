"""Labelling: what the page writes is what training reads."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from headscope.explorer.live.passes import LiveModel
from headscope.measures.patterns.classes import PATTERNS
from headscope.measures.patterns.labelled_maps import (
    Label,
    LabelledMaps,
    load_maps,
    save_maps,
)
from headscope.measures.patterns.rulers import LIMIT, rulers
from headscope.measures.patterns.seeing import seen_maps
from tests.explorer.conftest import GENEROUS
from tests.explorer.served import Served, serving


def made_up(n: int) -> LabelledMaps:
    rng = np.random.default_rng(0)
    maps = tuple(
        (lambda a: (a / a.sum(axis=1, keepdims=True)).astype(np.float32))(rng.random((9, 9)))
        for _ in range(n)
    )
    labels = tuple(Label("tiny", "self", i % 3, i % 4, f"s{i}", 9) for i in range(n))
    return LabelledMaps(labels, maps)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[tuple[Served, Path]]:
    path = tmp_path / "mine.json"
    save_maps(path, made_up(12))
    with serving(tmp_path, limits=GENEROUS) as served:
        yield served, path


def give(served: Served, index: int, label: str | None, look: str = "label") -> dict[str, object]:
    found = served.post("/api/labels/mine", {"index": index, "label": label, "look": look})
    assert found.status == 200, found.text
    told: dict[str, object] = found.json
    return told


def test_maps_labels_undo_and_progress(desk: tuple[Served, Path]) -> None:
    served, path = desk
    assert served.ask("/api/labels").json["sets"] == [{"id": "mine", "file": "mine.json"}]
    told = served.ask("/api/labels/mine").json
    assert told["todo"] == list(range(12))
    assert [c["key"] for c in told["classes"]] == ["v", "d", "m", "b", "h"]
    found = served.ask("/api/labels/mine/maps/3")
    told = json.loads(found.headers["x-headscope"])
    assert told["keys"] == 9
    ours = rulers(load_maps(path).maps[3])
    assert told["rulers"]["offsets"] == ours.offsets.tolist()
    assert told["rulers"]["limit"] == LIMIT
    for name, values in (("columns", ours.columns), ("diagonals", ours.diagonals)):
        sent = [np.nan if one is None else one for one in told["rulers"][name]]
        np.testing.assert_allclose(sent, values, atol=1e-3)
    sent = np.frombuffer(found.body, "<f2").reshape(9, 9)
    assert np.abs(sent - load_maps(path).maps[3]).max() < 1e-3

    assert give(served, 0, "block")["n_given"] == 1
    assert give(served, 1, "diagonal")["n_given"] == 2
    assert load_maps(path).labels[1].label == "diagonal"
    assert give(served, 1, None)["n_given"] == 1
    assert load_maps(path).labels[1].label is None
    assert served.ask("/api/labels/mine").json["todo"] == list(range(1, 12))


def test_two_looks_agree_as_scikit_learn_says(desk: tuple[Served, Path]) -> None:
    served, path = desk
    rng = np.random.default_rng(1)
    first = [PATTERNS[i] for i in rng.integers(0, 5, 12)]
    second = [a if rng.random() < 0.6 else PATTERNS[int(rng.integers(0, 5))] for a in first]
    for i, label in enumerate(first):
        give(served, i, label)
    blind = served.ask("/api/labels/mine?look=second").json
    assert blind["given"] == [None] * 12
    assert sorted(blind["todo"]) == list(range(12))
    assert blind["todo"] != list(range(12))
    assert not any(label in json.dumps(blind["maps"]) for label in PATTERNS)
    told: dict[str, object] = {}
    for i in blind["todo"]:
        told = give(served, i, second[i], "second")
    agreement = told["agreement"]
    assert isinstance(agreement, dict)
    assert agreement["n"] == 12
    assert agreement["kappa"] == pytest.approx(cohen_kappa_score(first, second))
    assert agreement["share"] == pytest.approx(
        np.mean([a == b for a, b in zip(first, second, strict=True)])
    )
    assert [one.second for one in load_maps(path).labels] == second


def test_the_set_is_what_training_reads(desk: tuple[Served, Path]) -> None:
    served, path = desk
    for i in range(6):
        give(served, i, PATTERNS[i % 5])
    own = load_maps(path).only()
    assert len(own) == 6
    assert seen_maps(own.maps).shape == (6, 4, 48, 48)
    assert set(own.targets.tolist()) == {0, 1, 2, 3, 4}


def test_two_people_at_once_lose_no_label(desk: tuple[Served, Path]) -> None:
    served, path = desk
    people = [
        threading.Thread(target=lambda k=k: [give(served, i, "block") for i in range(k, 12, 3)])
        for k in range(3)
    ]
    for one in people:
        one.start()
    for one in people:
        one.join()
    assert [one.label for one in load_maps(path).labels] == ["block"] * 12


@pytest.mark.parametrize(
    "asked",
    [
        {"index": 0, "label": "zigzag"},
        {"index": "0", "label": "block"},
        {"index": True, "label": "block"},
        {"index": 99, "label": "block"},
        {"index": -1, "label": "block"},
        {"index": 0, "label": ["block"]},
        {"index": 0, "label": "block", "look": "third"},
        {},
    ],
)
def test_nonsense_changes_nothing(desk: tuple[Served, Path], asked: dict[str, object]) -> None:
    served, path = desk
    before = path.read_bytes()
    assert served.post("/api/labels/mine", asked).status in (404, 422)
    assert path.read_bytes() == before


def test_a_set_begins_with_maps_of_the_loaded_model(tmp_path: Path, live_model: LiveModel) -> None:
    with serving(tmp_path, live=live_model, limits=GENEROUS) as served:
        assert served.post("/api/labels", {"name": "fresh", "n": 20}).json["n"] == 20
        assert len(load_maps(tmp_path / "fresh.json")) == 20
        again = served.post("/api/labels", {"name": "fresh", "n": 20})
        assert again.status == 422
        for name in ("../out", "a/b", "", ".hidden", "a b", "x" * 200, "/etc/x"):
            assert served.post("/api/labels", {"name": name, "n": 5}).status in (413, 422)
        for n in (0, 10_000, "5", True):
            assert served.post("/api/labels", {"name": "other", "n": n}).status == 422
        assert sorted(p.name for p in tmp_path.iterdir()) == ["fresh.json", "fresh.npz"]
    with serving(tmp_path, limits=GENEROUS) as served:
        assert served.post("/api/labels", {"name": "other", "n": 5}).status == 422
