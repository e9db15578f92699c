"""The second step of training: from made-up maps to real ones that were labelled by eye."""

from __future__ import annotations

import copy

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from headscope.measures.patterns.classes import PATTERNS
from headscope.measures.patterns.labelled_maps import LabelledMaps, Map, rows_to_one
from headscope.measures.patterns.network import PatternNetwork
from headscope.measures.patterns.rulers import is_causal, rulers
from headscope.measures.patterns.seeing import seen_maps
from headscope.measures.patterns.training import SEED, Said, alone_and_seeded, varied

#: What `headscope patterns train` does unless told otherwise: steps, maps in one, how many
#: of them are real and how many ideal, versions of each real map, highest learning rate, how slowly
#: the mean moves.
STEPS, BATCH, REAL, IDEAL, VERSIONS, RATE, MEMORY = 600, 96, 57, 12, 8, 7e-4, 0.99
#: The shortest part of a text whose map may stand for the whole one's.
_PART = 0.7


def versions(pattern: Map, label: str, rng: np.random.Generator, n: int = VERSIONS) -> list[Map]:
    """The map itself and changes of it that leave its label as it is.

    Turned by 180°, unless it is causal: the text read backwards; columns stay columns. The first
    part of a causal map is the map of the shorter text; a part of another map is one only nearly,
    so it is taken only where no column can get lost with the rest. Either counts only if the
    rulers still say the same. Blocks are never cut.

    >>> made = versions(np.eye(20, dtype=np.float32), "diagonal", np.random.default_rng(0))
    >>> len(made), all(np.allclose(one.sum(axis=1), 1) for one in made)
    (8, True)
    """
    causal, marks = is_causal(pattern), rulers(pattern).marks
    found = [pattern]
    while len(found) < n:
        one, n_tokens = pattern, len(pattern)
        if not causal and rng.random() < 0.5:
            one = one[::-1, ::-1]
        if label != "block" and n_tokens >= 16 and rng.random() < 0.6:
            kept, start = int(n_tokens * rng.uniform(_PART, 1)), 0
            if not causal and label in ("diagonal", "heterogeneous"):
                start = int(rng.integers(0, n_tokens - kept + 1))
            if causal or label in ("diagonal", "heterogeneous"):
                part = rows_to_one(one[start : start + kept, start : start + kept])
                one = part if rulers(part).marks == marks else one
        found.append(rows_to_one(one))
    return found


def ideal_maps() -> list[tuple[Map, str]]:
    """Maps with nothing in them but their shape, of several lengths, causal and not.

    No model draws them and no annotator has to look twice: without them a network that learns from
    real maps alone forgets what is beyond doubt.

    >>> made = ideal_maps()
    >>> sorted({label for _, label in made}) == sorted(PATTERNS)
    True
    >>> all(np.allclose(one.sum(axis=1), 1) for one, _ in made)
    True
    """
    found: list[tuple[Map, str]] = []
    for n in (8, 11, 16, 23, 32, 48, 70, 100):
        at = np.arange(n)
        back = at[:, None] - at[None, :]
        lines = [
            (np.clip(at - k, 0, n - 1)[:, None] == at).astype(float) for k in (-2, -1, 0, 1, 2)
        ]
        columns = [np.broadcast_to(at == k, (n, n)).astype(float) for k in (0, n // 2, n - 1)]
        shapes = [(one, "diagonal") for one in lines] + [(one, "vertical") for one in columns]
        shapes += [(a + b, "vertical_diagonal") for a in columns for b in lines[1:4]]
        for n_blocks in (2, 3, 4):
            of = at * n_blocks // n
            shapes.append(((of[:, None] == of).astype(float), "block"))
        shapes.append((np.ones((n, n)), "heterogeneous"))
        for weights, label in shapes:
            for causal in (False, True):
                kept = weights * (back >= 0) if causal else weights
                if (sums := kept.sum(axis=1, keepdims=True)).all():
                    found.append((np.asarray(kept / sums, dtype=np.float32), label))
    return found


def learn_from_real(
    network: PatternNetwork,
    images: Float[Tensor, "map layer size size"],
    targets: Int[Tensor, " map"],
    real: LabelledMaps,
    *,
    steps: int = STEPS,
    seed: int = SEED,
    said: Said = lambda words: None,
) -> PatternNetwork:
    """A network that has seen `images` goes on with them, real maps and ideal ones, side by side.

    A real map comes with the weight of one over the root of its label's count, so rare shapes
    come more often than they were drawn and less often than they would if all were equal. The
    network starts from its weights as they are stored, in half precision, and the result is the
    running mean of the weights. One thread, like `train_network`.

    Source of the mean: Izmailov et al. 2018, "Averaging weights leads to wider optima and better
    generalization", §3; here with exponential weights.
    """
    with alone_and_seeded(seed):
        return _learn(network, images, targets, real, steps, seed, said)


def _learn(
    network: PatternNetwork,
    images: Float[Tensor, "map layer size size"],
    targets: Int[Tensor, " map"],
    real: LabelledMaps,
    steps: int,
    seed: int,
    said: Said,
) -> PatternNetwork:
    rng = np.random.default_rng(seed)
    own, named, weight = _prepared(real, rng)
    ideal, shapes, even = _ideal()
    learner = copy.deepcopy(network).half().float().train().requires_grad_(True)
    mean = copy.deepcopy(learner).eval().requires_grad_(False)
    optimizer = torch.optim.AdamW(learner.parameters(), lr=RATE, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, RATE, total_steps=steps, pct_start=0.2
    )
    loss_of = nn.CrossEntropyLoss(label_smoothing=0.05)
    total = 0.0
    for step in range(1, steps + 1):
        a = torch.multinomial(weight, REAL, replacement=True)
        b = torch.multinomial(even, IDEAL, replacement=True)
        c = torch.randint(len(images), (BATCH - REAL - IDEAL,))
        seen = torch.cat([own[a], ideal[b], images[c]])
        wanted = torch.cat([named[a], shapes[b], targets[c]])
        optimizer.zero_grad()
        loss = loss_of(learner(varied(seen)), wanted)
        loss.backward()
        optimizer.step()
        schedule.step()
        with torch.no_grad():
            for kept, now in zip(mean.parameters(), learner.parameters(), strict=True):
                kept.lerp_(now, 1 - MEMORY)
        total += float(loss.detach())
        if step % 100 == 0 or step == steps:
            said(f"real maps, step {step} of {steps}: loss {total / (step % 100 or 100):.4f}")
            total = 0.0
    return mean


def _prepared(
    real: LabelledMaps, rng: np.random.Generator
) -> tuple[Float[Tensor, "map layer size size"], Int[Tensor, " map"], Float[Tensor, " map"]]:
    """Every version of every real map as an image, its label, and how often it is to come."""
    labels = real.targets
    rare = np.bincount(labels, minlength=len(PATTERNS))[labels] ** -0.5
    made = [
        one
        for pattern, label in zip(real.maps, labels.tolist(), strict=True)
        for one in versions(pattern, PATTERNS[label], rng)
    ]
    named = torch.from_numpy(np.repeat(labels, VERSIONS))
    return seen_maps(made), named, torch.from_numpy(np.repeat(rare, VERSIONS))


def _ideal() -> tuple[
    Float[Tensor, "map layer size size"], Int[Tensor, " map"], Float[Tensor, " map"]
]:
    """The ideal maps as images, their labels, and weights that make all labels equally frequent."""
    maps, labels = zip(*ideal_maps(), strict=True)
    named = torch.tensor([PATTERNS.index(label) for label in labels])
    return seen_maps(maps), named, 1.0 / named.bincount()[named]
