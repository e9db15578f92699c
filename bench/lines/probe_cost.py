"""What probing all heads at once costs beside one classifier after the other."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from copy import deepcopy
from functools import partial

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn

from bench.ratio import Line, compared, seconds
from bench.subject import bert_base, sequences
from headscope.models import collate
from headscope.probes.head_vectors import sentence_vectors
from headscope.probes.logistic import Fitted, Problems, fit_logistic

L2 = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
N_HEADS, D_HEAD, N_ROWS = 72, 32, 5000
#: Loops are timed on some heads and counted for all: one head is like the other.
N_TIMED = 2


def heads_and_labels(n_classes: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Outputs of 72 heads as they are: narrow spectra, far-off centres, labels told in part."""
    random = np.random.default_rng(seed)
    spectrum = 0.3 * 0.85 ** np.arange(D_HEAD)
    plain = random.normal(size=(N_HEADS, D_HEAD, N_ROWS)) * spectrum[:, None]
    turned = np.linalg.qr(random.normal(size=(N_HEADS, D_HEAD, D_HEAD)))[0] @ plain
    score = random.normal(size=(n_classes, D_HEAD)) @ plain[0] * 4
    labels = (score + random.gumbel(size=score.shape)).argmax(axis=0)
    x = turned + random.normal(size=(N_HEADS, D_HEAD, 1))
    return torch.from_numpy(x.astype(np.float32)), torch.from_numpy(labels)


def all_at_once(x: Tensor, y: Tensor, n_classes: int) -> Fitted:
    grid = torch.tensor(L2).expand(N_HEADS, -1)
    return fit_logistic(x, Problems(y.expand(len(L2), -1), grid, n_classes))


def scikit_learn(x: Tensor, y: Tensor, **options: object) -> list[LogisticRegression]:
    """A loop of fits with its defaults, but for enough steps."""
    options = {"max_iter": 1000, **options}
    fitted = []
    for head in x[:N_TIMED].numpy():
        rows = np.ascontiguousarray(head.T)
        for l2 in L2:
            one = LogisticRegression(C=1 / (l2 * len(y)), **options)
            fitted.append(one.fit(rows, y.numpy()))
    return fitted


def senteval(x: Tensor, y: Tensor, n_classes: int) -> None:
    """SentEval's loop: RMSProp over minibatches, early stop by held-out accuracy."""
    n_held = N_ROWS // 10
    for head in x[:N_TIMED]:
        rows = head.T.contiguous()
        for l2 in L2:
            torch.manual_seed(0)
            layer = nn.Linear(D_HEAD, n_classes)
            optimizer = torch.optim.RMSprop(layer.parameters(), lr=0.1, weight_decay=l2)
            best, idle, kept = -1.0, 0, layer
            for _ in range(200):
                for part in torch.split(torch.randperm(N_ROWS - n_held) + n_held, 256):
                    optimizer.zero_grad()
                    nn.functional.cross_entropy(layer(rows[part]), y[part]).backward()
                    optimizer.step()
                with torch.no_grad():
                    right = (layer(rows[:n_held]).argmax(1) == y[:n_held]).float().mean().item()
                if right > best:
                    best, idle, kept = right, 0, deepcopy(layer)
                else:
                    idle += 1
                if idle >= 3:
                    break
            del kept


def lines() -> Iterator[Line]:
    warnings.simplefilter("ignore")
    for n_classes in (2, 6):
        x, y = heads_and_labels(n_classes)
        ours = partial(all_at_once, x, y, n_classes)
        what = f"72 heads × 5 L2, 5,000 rows, {n_classes} classes"
        for name, loop, target in (
            ("scikit-learn's", partial(scikit_learn, x, y), 0.1),
            ("SentEval's", partial(senteval, x, y, n_classes), 0.05),
        ):
            share = N_TIMED / N_HEADS
            yield compared(f"{what} / {name} loop", ours, loop, target, rounds=3, share=share)
        # its default solver stops early on far-off centres: the exact one is the judge
        exact = x.double()
        judge = scikit_learn(exact, y, solver="newton-cholesky", tol=1e-8)
        said = ours().predict(x)
        gaps = [
            abs(
                (said[i // 5, i % 5] == y).float().mean().item()
                - one.score(exact[i // 5].numpy().T, y.numpy())
            )
            for i, one in enumerate(judge)
        ]
        yield Line(f"{what}: largest difference in accuracy, points", 100 * max(gaps), 0.5)
    yield from _vectors()


def _vectors() -> Iterator[Line]:
    model = bert_base()
    encoded = sequences(32, 24)
    batch = collate(encoded)

    def bare() -> None:
        with torch.inference_mode():
            model.model(**batch.inputs)

    def ours() -> None:
        sentence_vectors(model, batch, "first")

    seconds(ours)
    name = "vectors of all heads and layers / bare eager forward, 24 tokens"
    yield compared(name, ours, bare, 1.25)
