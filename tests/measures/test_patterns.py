"""Pattern shares: planted heads, the resampling against a loop, the real test maps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.metrics import cohen_kappa_score, confusion_matrix, f1_score

from headscope.engine import Settings
from headscope.engine.shard import run_shard
from headscope.errors import InputError
from headscope.measures import build
from headscope.measures.patterns import PATTERNS
from headscope.measures.patterns.evaluation import (
    cohens_kappa,
    evaluate,
    evaluated,
    names_of,
    score,
    second_look,
)
from headscope.measures.patterns.labelled_maps import (
    LARGEST,
    LabelledMaps,
    load_maps,
    pooled,
    save_maps,
    shipped_maps,
)
from headscope.measures.patterns.network import (
    load_network,
    network_at,
    save_network,
    shipped_weights,
)
from headscope.measures.patterns.page import LONGEST, SHORTEST
from headscope.measures.patterns.pattern_shares import is_drawn
from headscope.measures.patterns.real_training import learn_from_real, versions
from headscope.measures.patterns.resampling import SIZE, overlaps, resampled
from headscope.measures.patterns.sampling import is_development
from headscope.measures.patterns.seeing import seen_maps
from headscope.measures.patterns.synthetic import synthetic_map
from headscope.measures.patterns.training import (
    synthetic_images,
    train_network,
)
from headscope.models import LoadedModel
from headscope.types import Facts
from headscope.values import Counts
from tests.planted import (
    HEADS,
    encode_planted,
    encode_planted_causal,
    planted_causal,
)

MEASURE = build("patterns")
HEAD = {name: i for i, name in enumerate(HEADS)}
PAIRS = [
    encode_planted(
        "the old cat sat on the red mat and ate a small bird.",
        "she saw his dog under a big tree, it ran not.",
        name="one",
    ),
    encode_planted(
        "a big red dog saw the small mouse under the old house, and ran.",
        "he sees her cat on it, not his bird.",
        name="two",
    ),
    encode_planted(
        "she and he ate under the big tree.",
        "the bird saw her old house and the mouse sat on a mat.",
        name="three",
    ),
]


# --- planted heads ----------------------------------------------------------------------------


def test_planted_heads_have_the_shape_they_were_planted_with(
    planted_bert: LoadedModel, measured: Callable[..., Any]
) -> None:
    rows = measured(planted_bert, MEASURE, PAIRS, "pattern")
    shapes = {
        "self": "diagonal",
        "previous": "diagonal",
        "next": "diagonal",
        "cls": "vertical",
        "sep": "vertical",
        "segment": "block",
        "everywhere": "heterogeneous",
    }
    for head, shape in shapes.items():
        for layer in (0, 1):
            row = rows[layer, HEAD[head], shape]
            assert (row["share"], row["n"]) == (1.0, 3), head


def test_causal_planted_heads(measured: Callable[..., Any]) -> None:
    texts = ["the old cat sat on the red mat and ate a small bird, not the big dog.",
             "she saw his dog under a big tree and it ran, he sees her mouse."]  # fmt: skip
    encoded = [encode_planted_causal(t, name=t) for t in texts]
    rows = measured(planted_causal(), MEASURE, encoded, "pattern")
    for head, shape in ((0, "vertical"), (1, "diagonal"), (3, "heterogeneous")):
        assert rows[0, head, shape]["share"] == 1.0, (head, shape)


def test_shares_of_a_head_sum_to_one_and_lie_in_their_intervals(
    planted_bert: LoadedModel, measured: Callable[..., Any]
) -> None:
    rows = measured(planted_bert, MEASURE, PAIRS, "pattern")
    for layer in (0, 1):
        for head in range(len(HEADS)):
            mine = [rows[layer, head, p] for p in PATTERNS]
            assert sum(r["share"] for r in mine) == pytest.approx(1)
            assert all(r["ci_low"] <= r["share"] <= r["ci_high"] for r in mine)


def test_padding_and_batches_change_nothing(planted_bert: LoadedModel) -> None:
    short = encode_planted("the cat ran.", name="short")
    together = run_shard(planted_bert, [MEASURE], [*PAIRS, short], Settings())
    alone = run_shard(planted_bert, [MEASURE], [*PAIRS, short], Settings(batch_tokens=1))
    assert together.keys() == alone.keys()
    assert all(together[key].identical(alone[key]) for key in together)


# --- which sequences --------------------------------------------------------------------------


def test_the_draw_is_by_hash_and_about_as_large_as_asked(planted_bert: LoadedModel) -> None:
    names = [f"sequence {i}" for i in range(4000)]
    drawn = sum(is_drawn(name, 400, len(names)) for name in names)
    assert 340 < drawn < 460  # 400 ± 3 standard deviations
    assert all(is_drawn(name, 400, 400) for name in names)
    assert all(is_drawn(name, 0, 10**9) for name in names)
    facts = Facts(n_sequences=10**6)
    values = run_shard(planted_bert, [MEASURE], PAIRS, Settings(), facts)
    wanted = sum(is_drawn(e.sequence.id, 256, 10**6) for e in PAIRS)
    for value in values.values():
        assert isinstance(value, Counts)
        assert value.trials is not None
        assert (value.trials == wanted).all()


def test_no_drawn_sequence_is_no_data(planted_bert: LoadedModel, measured: Any) -> None:
    from headscope.measures import Total

    values = run_shard(planted_bert, [MEASURE], PAIRS, Settings(), Facts(n_sequences=10**12))
    table = MEASURE.finish(Total(planted_bert.layout, {p: v for (_, p), v in values.items()}))
    columns = table.tables["patterns"]
    assert np.isnan(columns["share"]).all()
    assert (np.asarray(columns["n"]) == 0).all()


# --- resampling -------------------------------------------------------------------------------


def naive_resampled(pattern: np.ndarray, size: int) -> np.ndarray:
    """Cell by cell from the definition: areas of overlap, mean over rows, sum over columns."""
    n = len(pattern)
    found = np.zeros((size, size))
    for i in range(size):
        for j in range(size):
            for q in range(n):
                for k in range(n):
                    rows = min((q + 1) * size / n, i + 1) - max(q * size / n, i)
                    keys = min((k + 1) * size / n, j + 1) - max(k * size / n, j)
                    if rows > 0 and keys > 0:  # rows is a share of the cell, keys of the token
                        found[i, j] += rows * pattern[q, k] * keys * n / size
    return found


@pytest.mark.parametrize(("n", "size"), [(5, 4), (3, 8), (8, 8), (13, 6)])
def test_resampling_agrees_with_a_loop(n: int, size: int) -> None:
    rng = np.random.default_rng(n)
    pattern = rng.dirichlet(np.ones(n), size=n)
    padded = torch.zeros(1, 1, n + 4, n + 4)
    padded[0, 0, :n, :n] = torch.from_numpy(pattern)
    padded[0, 0, n:] = 7.0  # rows of padding hold anything
    cells = overlaps(torch.tensor([n]), n + 4, size)
    found = resampled(padded, cells, cells)[0, 0].numpy()
    np.testing.assert_allclose(found, naive_resampled(pattern, size), atol=1e-6)
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-5)
    if n > size:
        np.testing.assert_allclose(pooled(pattern, size), found, atol=1e-6)


# --- the generator ----------------------------------------------------------------------------


@pytest.mark.parametrize("pattern", PATTERNS)
def test_made_up_maps_are_attention_and_repeat(pattern: str) -> None:
    lengths, causal = set(), set()
    for seed in range(40):
        made = synthetic_map(pattern, seed)
        assert SHORTEST <= len(made) <= LONGEST
        assert made.dtype == np.float32
        assert (made >= 0).all()
        np.testing.assert_allclose(made.sum(axis=1), 1, atol=1e-4)
        lengths.add(len(made))
        causal.add(not np.triu(made, 1).any())
    assert causal == {True, False}
    assert min(lengths) < 32 < 128 < max(lengths)
    np.testing.assert_array_equal(synthetic_map(pattern, 7), synthetic_map(pattern, 7))
    assert synthetic_map(pattern, 7).tobytes() != synthetic_map(pattern, 8).tobytes()


def test_training_is_deterministic_and_learns() -> None:
    images, targets = synthetic_images(90, seed=1)
    assert images.shape == (90, 4, SIZE, SIZE)
    assert torch.bincount(targets).tolist() == [20, 20, 20, 10, 20]
    first, second = (train_network(images, targets, epochs=2) for _ in range(2))
    for a, b in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.equal(a, b)
    longer = train_network(images, targets, epochs=60)
    assert (names_of(longer, images) == targets.numpy()).mean() > 0.6


def test_versions_of_a_map_are_attention_of_the_same_shape() -> None:
    rng = np.random.default_rng(0)
    whole = rng.dirichlet(np.ones(20), size=20).astype(np.float32)
    for label, shortest in (("heterogeneous", 14), ("vertical", 20), ("block", 20)):
        made = versions(whole, label, rng, n=30)
        assert made[0] is whole
        assert min(map(len, made)) >= shortest
        turned = [one for one in made if one.shape == whole.shape]
        assert any(np.allclose(one, whole[::-1, ::-1]) for one in turned)
        for one in made:
            np.testing.assert_allclose(one.sum(axis=1), 1, atol=1e-5)
    long = np.tri(100, dtype=np.float32) / np.arange(1, 101, dtype=np.float32)[:, None]
    for one in versions(pooled(long), "heterogeneous", rng, n=30):
        assert not np.triu(one, 2).any()  # a pooled causal map is causal: it is not turned
    causal = np.tril(whole) / np.tril(whole).sum(axis=1, keepdims=True)
    for one in versions(causal, "vertical", rng, n=30):  # the map of the text's first part
        np.testing.assert_allclose(one, causal[: len(one), : len(one)], atol=1e-6)


def test_learning_from_real_maps_is_deterministic_and_learns() -> None:
    images, targets = synthetic_images(45, seed=1)
    begun = train_network(images, targets, epochs=1)
    before = [p.clone() for p in begun.parameters()]
    real = shipped_maps("training")
    few = LabelledMaps(real.labels[:60], real.maps[:60])
    first, second = (learn_from_real(begun, images, targets, few, steps=3) for _ in range(2))
    for a, b in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.equal(a, b)
    assert all(torch.equal(a, b) for a, b in zip(before, begun.parameters(), strict=True))
    longer = learn_from_real(begun, images, targets, few, steps=60)
    assert evaluate(longer, few).accuracy > evaluate(begun, few).accuracy + 0.1


# --- real maps --------------------------------------------------------------------------------


def test_the_shipped_network_names_real_maps_as_well_as_the_docs_say() -> None:
    maps = shipped_maps("test")
    found = evaluate(network_at(""), maps)
    named = names_of(network_at(""), seen_maps(maps.maps))
    assert found.macro_f1 == pytest.approx(f1_score(maps.targets, named, average="macro"))
    assert found.confusion.tolist() == confusion_matrix(maps.targets, named).tolist()
    assert found.macro_f1 >= 0.92


def test_the_shipped_maps_are_what_the_docs_say() -> None:
    test, training = shipped_maps("test"), shipped_maps("training")
    assert len(test) >= 300
    assert len({one.model for one in test.labels}) >= 3
    assert {one.label for one in test.labels} == set(PATTERNS)

    def heads(maps: LabelledMaps) -> set[tuple[str, str, int, int]]:
        # a fine-tuned copy's head counts as the head it was copied from
        base = {one.model: one.model.split(" tuned on ")[0] for one in maps.labels}
        base["sre-embedding-model"] = "all-MiniLM-L6-v2"
        return {(base[one.model], one.stack, one.layer, one.head) for one in maps.labels}

    assert not heads(test) & heads(training)
    assert not any(is_development(one, 0.25) for one in test.labels)
    assert len({(one.model, one.layer, one.head, one.sequence) for one in test.labels}) == len(test)
    for maps in (test, training):
        for one in maps.maps:
            assert len(one) <= LARGEST
            np.testing.assert_allclose(one.sum(axis=1), 1, atol=1e-4)


def test_a_second_look_is_compared_with_the_label() -> None:
    maps = shipped_maps("test")
    assert second_look(maps) is None
    again = second_look(maps.labelled(0, "block", "second").labelled(1, "vertical", "second"))
    assert again is not None
    assert again.confusion.sum() == 2


def test_what_is_known_about_the_labels_is_told() -> None:
    maps = shipped_maps("test")
    found = evaluated(network_at(""), maps)
    assert [*found.looks] == ["two annotators", "an earlier rule"]
    pairs = {
        "two annotators": [one.others[:2] for one in maps.labels],
        "an earlier rule": [(one.label, one.earlier) for one in maps.labels],
    }
    for name, both in pairs.items():
        one, other = zip(*both, strict=True)
        look = found.looks[name]
        assert cohens_kappa(look.confusion) == pytest.approx(cohen_kappa_score(one, other))
        assert look.macro_f1 == pytest.approx(f1_score(one, other, average="macro"))
    assert cohens_kappa(found.looks["two annotators"].confusion) > 0.9
    assert found.agreed is not None
    n_agreed = sum({one.label, *one.others} == {one.label} for one in maps.labels)
    assert found.agreed.confusion.sum() == n_agreed == 540
    assert sum(one.confusion.sum() for one in found.models.values()) == len(maps)


def test_labels_are_what_two_annotators_say_or_a_third_decides() -> None:
    for one in (*shipped_maps("test").labels, *shipped_maps("training").labels):
        first, second, *third = one.others
        assert one.label == (first if first == second else third[0])


def test_scores_agree_with_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    labels, named = rng.integers(0, 5, 300), rng.integers(0, 5, 300)
    found = score(labels, named)
    np.testing.assert_allclose(found.f1, f1_score(labels, named, average=None))
    assert found.accuracy == pytest.approx((labels == named).mean())


# --- files ------------------------------------------------------------------------------------


def test_the_weights_are_small_safetensors() -> None:
    path = shipped_weights()
    assert path.suffix == ".safetensors"
    assert path.stat().st_size < 500_000
    network = load_network(path)
    assert sum(isinstance(m, torch.nn.Conv2d) for m in network.modules()) == 8


def test_weights_survive_a_round_trip(tmp_path: Path) -> None:
    network = load_network(shipped_weights())
    save_network(network, tmp_path / "own.safetensors")
    images = seen_maps(shipped_maps("training").maps)
    again = load_network(tmp_path / "own.safetensors")
    np.testing.assert_array_equal(names_of(network, images), names_of(again, images))


def test_wrong_weights_are_refused_before_the_pass(tmp_path: Path) -> None:
    (tmp_path / "bad.safetensors").write_bytes(b"\x80\x04no pickle is ever opened")
    with pytest.raises(InputError, match=r"bad\.safetensors"):
        build("patterns", {"weights": str(tmp_path / "bad.safetensors")})
    with pytest.raises(InputError, match="no such file"):
        build("patterns", {"weights": str(tmp_path / "none.safetensors")})


def test_label_files_survive_a_round_trip(tmp_path: Path) -> None:
    maps = shipped_maps("training")
    save_maps(tmp_path / "own.json", maps)
    again = load_maps(tmp_path / "own.json")
    assert again.labels == maps.labels
    for a, b in zip(maps.maps, again.maps, strict=True):
        np.testing.assert_allclose(a, b, atol=0.01)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "JSON"),
        ('{"format": "other"}', "another format"),
        ('{"format": "headscope pattern labels 1", "labels": [{"model": "m"}]}', "label 1"),
    ],
)
def test_a_wrong_label_file_is_named(tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "bad.json").write_text(content)
    with pytest.raises(InputError, match=said):
        load_maps(tmp_path / "bad.json")
    with pytest.raises(InputError, match="no such file"):
        load_maps(tmp_path / "absent.json")
