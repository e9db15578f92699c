"""The batched solvers against scikit-learn, torch's own optimiser, and each other."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression, Ridge
from torch import Tensor

from headscope.probes import rotation
from headscope.probes.logistic import Problems, fit_logistic
from headscope.probes.ridge import fit_ridge
from headscope.probes.rotation import centred, rotate
from headscope.probes.senteval_schedule import Schedule, fit_by_schedule

L2 = (1e-4, 1e-2, 1.0)


def features(n_sets: int = 4, width: int = 6, n_rows: int = 300, seed: int = 0) -> Tensor:
    """Correlated features of different scales and far-off centres, as heads' outputs are."""
    random = np.random.default_rng(seed)
    mixing = random.normal(size=(n_sets, width, width)) * 10.0 ** random.uniform(
        -1, 1, (n_sets, 1, 1)
    )
    plain = random.normal(size=(n_sets, width, n_rows))
    moved = mixing @ plain + random.normal(size=(n_sets, width, 1)) * 3
    return torch.from_numpy(moved.astype(np.float32))


def labels(x: Tensor, n_classes: int, seed: int = 1) -> Tensor:
    """Classes that the first set tells in part."""
    random = np.random.default_rng(seed)
    score = x[0].numpy().T @ random.normal(size=(x.shape[1], n_classes))
    noisy = score / score.std() + random.gumbel(size=score.shape)
    return torch.from_numpy(noisy.argmax(axis=1))


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_every_problem_is_what_scikit_learn_finds(n_classes: int) -> None:
    x = features()
    y = labels(x, n_classes)
    problems = Problems(y.expand(len(L2), -1), torch.tensor(L2).expand(len(x), -1), n_classes)
    fitted = fit_logistic(x, problems, tolerance=1e-9)
    assert fitted.converged
    probabilities = fitted.logits(x)
    for i, one in enumerate(x):
        rows = one.numpy().T.astype(np.float64)
        for j, l2 in enumerate(L2):
            theirs = LogisticRegression(C=1 / (l2 * len(y)), tol=1e-9, max_iter=10_000)
            theirs.fit(rows, y.numpy())
            ours = probabilities[i, j].numpy()
            p = 1 / (1 + np.exp(-ours[0])) if n_classes == 2 else None
            expected = theirs.predict_proba(rows)
            if p is not None:
                np.testing.assert_allclose(p, expected[:, 1], atol=2e-3)
            else:
                mine = torch.softmax(probabilities[i, j], dim=0).numpy().T
                np.testing.assert_allclose(mine, expected, atol=2e-3)


def test_slots_learn_their_own_labels() -> None:
    x = features(n_sets=1)
    first = labels(x, 2)
    both = torch.stack([first, 1 - first])
    fitted = fit_logistic(x, Problems(both, torch.full((1, 2), 1e-2), 2))
    torch.testing.assert_close(fitted.weights[:, 0], -fitted.weights[:, 1], atol=1e-3, rtol=1e-2)


def test_a_prefix_is_a_problem_of_its_own() -> None:
    x = features(n_sets=3, width=4)
    y = labels(x, 3)
    whole_x = x[[2, 0, 1]].flatten(0, 1)[None]
    grid = torch.full((1, 3), 1e-2)
    widths = torch.tensor([4, 8, 12])
    whole = fit_logistic(
        centred(whole_x), Problems(y.expand(3, -1), grid, 3, widths), tolerance=1e-10
    )
    for slot, chosen in enumerate(([2], [2, 0], [2, 0, 1])):
        joined = x[chosen].flatten(0, 1)[None]
        alone = fit_logistic(joined, Problems(y[None], grid[:, :1], 3), tolerance=1e-10)
        mine = torch.softmax(whole.logits(whole_x)[0, slot], dim=0)
        theirs = torch.softmax(alone.logits(joined)[0, 0], dim=0)
        torch.testing.assert_close(mine, theirs, atol=2e-3, rtol=0)


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is too wide to be turned begins at 21 features, and many rows at 61."""
    monkeypatch.setattr(rotation, "MAX_TURNED", 20)
    monkeypatch.setattr(rotation, "MAX_ROWS", 60)


@pytest.mark.usefixtures("narrow")
def test_more_features_than_rows_are_solved_by_way_of_the_rows() -> None:
    x = features(n_sets=1, width=80, n_rows=60)
    y = labels(x, 3)
    assert rotate(x).features.shape == (1, 61, 60)
    problems = Problems(y[None], torch.full((1, 1), 1e-2), 3)
    fewer = fit_logistic(x, problems, tolerance=1e-9)
    whole = fit_logistic(centred(x), problems, tolerance=1e-9, max_steps=1000)
    for one in (fewer, whole):
        assert one.converged
    torch.testing.assert_close(
        torch.softmax(fewer.logits(x), 2), torch.softmax(whole.logits(x), 2), atol=1e-3, rtol=0
    )


@pytest.mark.usefixtures("narrow")
def test_wide_features_of_many_rows_are_not_turned_and_still_solved() -> None:
    x = features(n_sets=1, width=80, n_rows=100)
    assert rotate(x).axes is None
    y = labels(x, 2)
    fitted = fit_logistic(x, Problems(y[None], torch.full((1, 1), 1e-2), 2))
    assert fitted.converged
    assert (fitted.predict(x)[0, 0] == y).float().mean() > 0.95


@pytest.mark.parametrize("n_classes", [2, 3])
def test_features_that_tell_nothing_do_no_harm(n_classes: int) -> None:
    """Constant features, and labels they separate without error."""
    y = torch.arange(30) % n_classes
    constant = torch.full((1, 4, 30), 7.0)
    fitted = fit_logistic(constant, Problems(y[None], torch.full((1, 1), 1e-5), n_classes))
    assert torch.isfinite(fitted.weights).all()
    assert len(fitted.predict(constant).unique()) == 1
    telling = torch.nn.functional.one_hot(y, n_classes).T.float()[None]
    fitted = fit_logistic(telling, Problems(y[None], torch.full((1, 1), 1e-5), n_classes))
    assert (fitted.predict(telling)[0, 0] == y).all()


def test_ridge_is_scikit_learns() -> None:
    x = features()
    y = x[0].sum(dim=0) + torch.randn(300, generator=torch.Generator().manual_seed(0))
    targets = torch.stack([y, -2 * y, y])
    l2 = torch.tensor([0.01, 0.01, 10.0])
    ours = fit_ridge(x, targets, l2.expand(len(x), -1)).predict(x)
    for i, one in enumerate(x):
        rows = one.numpy().T.astype(np.float64)
        for j in range(3):
            theirs = Ridge(alpha=float(l2[j]) * 300).fit(rows, targets[j].numpy())
            np.testing.assert_allclose(
                ours[i, j], theirs.predict(rows), atol=1e-3 * float(targets[j].std())
            )


def test_ridge_on_prefixes() -> None:
    x = features(n_sets=2, width=3)
    y = x[1].sum(dim=0)
    whole = x[[1, 0]].flatten(0, 1)[None]
    line = fit_ridge(centred(whole), y.expand(2, -1), torch.full((1, 2), 0.1), torch.tensor([3, 6]))
    theirs = Ridge(alpha=30.0).fit(x[1].numpy().T, y.numpy())
    ours = line.predict(whole)[0, 0]
    np.testing.assert_allclose(ours, theirs.predict(x[1].numpy().T), atol=1e-2)
    assert (line.weights[0, 0, 3:] == 0).all()


class TestSchedule:
    """SentEval's way of training, against the same written with torch's own optimiser."""

    def naive(self, x: Tensor, y: Tensor, l2: float, n_classes: int, n_epochs: int) -> Tensor:
        random = torch.Generator().manual_seed(0)
        width = x.shape[0]
        first = (2 * torch.rand(1, 1, n_classes, width + 1, generator=random) - 1) / width**0.5
        layer = torch.nn.Linear(width, n_classes)
        with torch.no_grad():
            layer.weight.copy_(first[0, 0, :, :-1])
            layer.bias.copy_(first[0, 0, :, -1])
        optimizer = torch.optim.RMSprop(layer.parameters(), lr=0.1, weight_decay=l2)
        for _ in range(n_epochs):
            for rows in torch.randperm(len(y), generator=random).split(64):
                optimizer.zero_grad()
                loss = torch.nn.functional.cross_entropy(layer(x.T[rows]), y[rows])
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
        return layer.weight.detach()

    def test_it_steps_as_torch_does(self) -> None:
        x = features(n_sets=1)
        y = labels(x, 3)
        schedule = Schedule(batch_size=64, max_epochs=1)
        ours = fit_by_schedule(
            x, y[None], (x, y[None]), torch.full((1, 1), 1e-3), 3, schedule=schedule
        )
        expected = self.naive(x[0], y, 1e-3, 3, 1)
        torch.testing.assert_close(ours.weights[0, 0], expected, atol=1e-4, rtol=1e-3)

    def test_each_problem_stops_on_its_own_and_keeps_its_best(self) -> None:
        x = features(n_sets=2)
        y = labels(x, 2)
        grid = torch.tensor([1e-5, 1e-1]).expand(2, -1)
        held = (x, y.expand(2, -1))
        long = fit_by_schedule(x, y.expand(2, -1), held, grid, 2, schedule=Schedule(max_epochs=50))
        assert 3 < long.n_steps < 50
        short = fit_by_schedule(x, y.expand(2, -1), held, grid, 2, schedule=Schedule(max_epochs=1))
        for set_ in range(2):
            for slot in range(2):
                best, first = (
                    (f.predict(x)[set_, slot] == y).float().mean() for f in (long, short)
                )
                assert best >= first

    def test_it_comes_near_the_exact_solution(self) -> None:
        x = features(n_sets=1)
        x = x / x.std()
        y = labels(x, 2)
        grid = torch.full((1, 1), 1e-2)
        exact = fit_logistic(x, Problems(y[None], grid, 2)).predict(x)[0, 0]
        by_schedule = fit_by_schedule(x, y[None], (x, y[None]), grid, 2).predict(x)[0, 0]
        right = [(p == y).float().mean().item() for p in (exact, by_schedule)]
        assert right[0] > 0.6
        assert abs(right[0] - right[1]) < 0.05
