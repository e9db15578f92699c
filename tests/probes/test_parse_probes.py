"""Probes against loops written from the formulas, and on heads that are planted."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from headscope.models import Tap, View
from headscope.models.random_twin import random_twin
from headscope.probes.attention_probe import AttentionProbe, squared_spread
from headscope.probes.distance_probe import NEAR, DistanceProbe, right_branching
from headscope.probes.line_up import make_students
from headscope.probes.parse_batch import ROOT, ParseBatch, WordMaps, parse_batch, word_maps
from headscope.probes.parse_training import (
    MAX_PAIRS,
    MAX_SENTENCES,
    Classroom,
    held_out,
    shuffled_batches,
    sorted_batches,
)
from headscope.probes.student import Schedule, Student
from headscope.types import Dependencies, Encoded
from tests.planted import encode_planted, expected_pattern, planted, planted_model

SENTENCES = (
    # every word's head is the word before it, the first word's is ROOT; "played" is split
    "the dog played on a mat .",
    "she sees the old house",
    "he saw a red bird .",
    "it ran under the big tree",
)


def sentence(text: str, name: str = "s") -> Encoded:
    words = text.split()
    heads = tuple(range(-1, len(words) - 1))
    relations = tuple("punct" if word == "." else "dep" for word in words)
    return encode_planted(text, name=name, dependencies=Dependencies(heads, relations))


def batch_of(texts: tuple[str, ...] = SENTENCES) -> ParseBatch:
    return parse_batch(
        [sentence(t, f"s{i}") for i, t in enumerate(texts)], planted(), lambda w: 1 + len(w)
    )


def random_maps(batch: ParseBatch, n_maps: int, seed: int = 0) -> tuple[Tensor, WordMaps]:
    n, u = batch.real.shape
    maps = torch.rand(n, n_maps, u, u, generator=torch.Generator().manual_seed(seed))
    return maps, WordMaps(maps.permute(0, 2, 1, 3), maps.permute(0, 3, 1, 2))


def test_gold_heads_and_what_counts() -> None:
    batch = batch_of()
    assert batch.heads[0].tolist() == [-1, 0, 1, 2, 3, 4, 5, 6]
    assert batch.scored[0].tolist() == [False, *[True] * 6, False]  # the period is punctuation
    assert batch.scored[1].tolist() == [False, *[True] * 5, False, False]
    assert batch.rows[1].tolist() == [0, 4, 5, 4, 4, 6, 0, 0]
    lost = encode_planted("she ran", dependencies=Dependencies((-2, 0), ("nsubj", "dep")))
    assert parse_batch([lost], planted(), len).scored.tolist() == [[False, False, True]]


def test_word_maps_follow_the_planted_heads() -> None:
    model = planted()
    batch = batch_of()
    maps = word_maps(model, batch)
    assert maps.by_query.shape == (4, 8, 16, 8)
    assert torch.equal(maps.by_key, maps.by_query.permute(0, 3, 2, 1))
    for b, one in enumerate(batch.tokens.encoded):
        pattern = expected_pattern(one)
        units = one.words + 1  # delimiters are ROOT
        for head in range(8):
            for query in range(units.max() + 1):
                for key in range(units.max() + 1):
                    block = pattern[head][np.ix_(units == query, units == key)]
                    expected = block.sum(axis=1).mean()
                    for layer in (0, 8):
                        found = maps.by_query[b, query, layer + head, key].item()
                        assert found == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("n_dimensions", [0, 5])
def test_scores_are_the_formula(n_dimensions: int) -> None:
    batch = batch_of()
    n_maps = 3
    maps, both = random_maps(batch, n_maps)
    generator = torch.Generator().manual_seed(1)
    probe = AttentionProbe(n_maps, n_dimensions)
    with torch.no_grad():
        for parameter in probe.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator))
    probe.set_scale(0.25)
    n, u = batch.real.shape
    vectors = torch.randn(n, u, n_dimensions, generator=generator)
    vectors[:, 0] = 0
    scores = probe(both, vectors, batch)
    state = {name: value.detach().double().numpy() for name, value in probe.state_dict().items()}
    for b in range(n):
        for j in range(1, int(batch.real[b].sum())):
            for i in range(u):
                if i == j or not batch.real[b, i]:
                    assert scores[b, j, i] == -math.inf
                    continue
                v_i, v_j = (vectors[b, x].double().numpy() for x in (i, j))
                expected = 0.0
                if i == ROOT:
                    expected += state["root_bias"][0]
                    expected += state["root_words"] @ v_j if n_dimensions else 0.0
                for k in range(n_maps):
                    from_i, to_i = (maps[b, k, i, j].item() / 0.25, maps[b, k, j, i].item() / 0.25)
                    if i == ROOT:
                        w, t = state["root_weight"][:, k]
                    else:
                        w, t = state["weight"][:, k]
                        if n_dimensions:
                            pair = np.concatenate([v_i, v_j])
                            w += np.concatenate([state["words"][0, k], state["words"][1, k]]) @ pair
                            t += np.concatenate([state["words"][2, k], state["words"][3, k]]) @ pair
                    expected += w * from_i + t * to_i
                assert scores[b, j, i].item() == pytest.approx(expected, rel=1e-4, abs=1e-4)


def test_mean_weights_are_those_of_the_formula() -> None:
    probe = AttentionProbe(2, 3)
    with torch.no_grad():
        for parameter in probe.parameters():
            parameter.copy_(
                torch.randn(parameter.shape, generator=torch.Generator().manual_seed(2))
            )
    table = torch.randn(6, 3, generator=torch.Generator().manual_seed(3))
    candidates, dependents = torch.tensor([1, 4, 4]), torch.tensor([2, 2, 5])
    found = probe.weights_at(candidates, table, dependents)
    expected = torch.zeros(2, 2)
    for i, j in zip(candidates.tolist(), dependents.tolist(), strict=True):
        for direction in range(2):
            own = probe.words[2 * direction] @ table[i] + probe.words[2 * direction + 1] @ table[j]
            expected[direction] += probe.weight[direction] + own
    torch.testing.assert_close(found, expected)


def test_distance_scores_are_the_formula() -> None:
    batch = batch_of()
    n, u = batch.real.shape
    torch.manual_seed(5)
    probe = DistanceProbe(4, n_hidden=6)
    with torch.no_grad():
        probe.root.copy_(torch.randn(6))
    vectors = torch.randn(n, u, 4)
    scores = probe(vectors, batch)
    for b, j, i in [(0, 1, 3), (0, 6, 2), (1, 2, 0), (3, 1, 6)]:
        hidden = probe.dependent(vectors[b, j])
        if i == ROOT:
            hidden = hidden + probe.root
        else:
            far = i - j
            indicators = [float(far == d) for d in range(-NEAR, NEAR + 1) if d]
            behind, ahead = max(-far, 0), max(far, 0)
            features = [behind / 10, ahead / 10, math.log1p(behind), math.log1p(ahead)]
            hidden = hidden + probe.candidate(vectors[b, i])
            hidden = hidden + probe.distance(torch.tensor(indicators + features))
        expected = probe.out(torch.tanh(hidden)).item()
        assert scores[b, j, i].item() == pytest.approx(expected, abs=1e-5)


def test_right_branching_ends_at_root() -> None:
    batch = batch_of()
    assert right_branching(batch)[1, 1:6].tolist() == [2, 3, 4, 5, ROOT]
    assert right_branching(batch)[0, 1:8].tolist() == [2, 3, 4, 5, 6, 7, ROOT]


def test_spread_is_a_standard_deviation_over_candidates() -> None:
    batch = batch_of()
    maps, both = random_maps(batch, 2)
    total, n = 0.0, 0
    for b, j in batch.scored.nonzero().tolist():
        others = [i for i in range(1, int(batch.real[b].sum())) if i != j]
        for k in range(2):
            for row in (maps[b, k, j, others], maps[b, k, others, j]):
                total += float(((row - row.mean()) ** 2).sum())
                n += len(others)
    found, n_found = squared_spread(both, batch)
    assert n_found == n
    assert found == pytest.approx(total, rel=1e-5)


def test_a_planted_head_is_found_and_weighs_most() -> None:
    """The gold head is the previous word: head 2 of 8 (both layers) attends exactly there."""
    model = planted()
    encoded = [sentence(t, f"s{i}") for i, t in enumerate(SENTENCES * 8)]
    room = Classroom({"model": model}, torch.zeros(1, 0), lambda _: 0)
    student = Student("attention", AttentionProbe(16), "model", Schedule(0.05, 30, 30))
    student.set_scale({"model": room.measure_spread("model", encoded, lambda _: None)})
    for epoch in range(30):
        room.epoch([student], encoded, epoch, lambda _: None)
    right, n = room.examine([student], encoded, lambda _: None)
    assert n == 8 * (6 + 5 + 5 + 6)
    assert right["attention"] == n
    assert right["right_branching"] == 0
    to_head = student.probe.weight[1].detach()  # from the dependent to its head
    assert set(to_head.topk(2).indices.tolist()) == {1, 9}
    from_head = student.probe.weight[0].detach()  # the next-token head, seen from the head
    assert set(from_head.topk(2).indices.tolist()) == {2, 10}


def test_a_student_goes_on_as_if_it_had_not_stopped() -> None:
    model = planted()
    encoded = [sentence(t, f"s{i}") for i, t in enumerate(SENTENCES)]
    vectors = torch.randn(12, 3, generator=torch.Generator().manual_seed(0))
    room = Classroom({"model": model}, vectors, len)

    def students() -> list[Student]:
        schedule = Schedule(0.01, 5, 5)
        made = make_students(
            n_maps=16,
            n_dimensions=3,
            attention=schedule,
            vectors=schedule,
            distance=schedule,
            seed=1,
        )
        return [s for s in made if s.reads != "twin"]

    whole, first, second = students(), students(), students()
    for epoch in range(4):
        room.epoch(whole, encoded, epoch, lambda _: None)
        for student in whole:
            student.examined(0.1 * epoch)
    for epoch in range(2):
        room.epoch(first, encoded, epoch, lambda _: None)
        for student in first:
            student.examined(0.1 * epoch)
    for old, new in zip(first, second, strict=True):
        new.from_arrays(*old.to_arrays())
    for epoch in range(2, 4):
        room.epoch(second, encoded, epoch, lambda _: None)
        for student in second:
            student.examined(0.1 * epoch)
    for a, b in zip(whole, second, strict=True):
        assert (a.best_uas, a.best_epoch, a.n_epochs) == (b.best_uas, b.best_epoch, b.n_epochs)
        for name, tensor in a.probe.state_dict().items():
            assert torch.equal(tensor, b.probe.state_dict()[name])
            assert torch.equal(a.best[name], b.best[name])


def test_a_student_stops_after_its_patience_and_keeps_its_best() -> None:
    student = Student("attention", AttentionProbe(2), "model", Schedule(0.1, 9, 2))
    for uas, weight in [(0.5, 1.0), (0.6, 2.0), (0.55, 3.0), (0.6, 4.0)]:
        assert not student.done
        with torch.no_grad():
            student.probe.weight.fill_(weight)
        student.examined(uas)
    assert student.done
    student.graduate()
    assert student.probe.weight[0, 0].item() == 2.0
    assert (student.best_uas, student.best_epoch, student.n_epochs) == (0.6, 2, 4)


def test_batches_hold_every_sentence_once_within_their_limits() -> None:
    encoded = [sentence(" ".join(["cat"] * (1 + i % 30)), f"s{i}") for i in range(200)]
    first, again, other = (list(shuffled_batches(encoded, 3, e)) for e in (0, 0, 1))
    names = [[e.sequence.id for e in part] for part in first]
    assert sorted(name for part in names for name in part) == sorted(e.sequence.id for e in encoded)
    assert names == [[e.sequence.id for e in part] for part in again]
    assert names != [[e.sequence.id for e in part] for part in other]
    for part in sorted_batches(encoded):
        longest = 1 + max(len(e.sequence.words or ()) for e in part)
        assert len(part) <= MAX_SENTENCES
        assert len(part) == 1 or len(part) * longest**2 <= MAX_PAIRS
    learn, held = held_out(200, 0.05, 0)
    assert (len(learn), len(held)) == (190, 10)


def test_the_random_twin_keeps_its_embeddings_and_nothing_else() -> None:
    model = planted()
    state = random_twin(model, 1).model.state_dict()
    again, other = (random_twin(model, seed).model.state_dict() for seed in (1, 2))
    for name, kept in planted_model().state_dict().items():
        if "_embeddings." in name:
            assert torch.equal(state[name], kept), name
        elif "query.weight" in name:
            assert not torch.equal(state[name], kept), name
            assert torch.equal(state[name], again[name])
            assert not torch.equal(state[name], other[name])
            assert state[name].std().item() == pytest.approx(0.02, rel=0.05)
    seen: list[View] = []
    twin = random_twin(model, 1)
    batch = batch_of()
    with torch.no_grad(), Tap(model.model), Tap(twin.model, observer=seen.append) as tap:
        tap.forward(batch.tokens)  # both can be tapped at once
    assert len(seen) == 2
