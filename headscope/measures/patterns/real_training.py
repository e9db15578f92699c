"""The second step of training: from made-up maps to real ones that were labelled by eye."""

from __future__ import annotations

import copy

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from headscope.measures.patterns.classes import PATTERNS
from headscope.measures.patterns.labelled_maps import LabelledMaps, Map
from headscope.measures.patterns.network import PatternNetwork
from headscope.measures.patterns.training import SEED, Said, alone_and_seeded, images_of, varied

#: What `headscope patterns train` does unless told otherwise: how often it learns, in how many
#: steps, maps in one, how many of them are real, versions of each real map, the highest learning
#: rate, and how slowly the running mean of the weights moves.
RUNS, STEPS, BATCH, REAL, VERSIONS, RATE, MEMORY = 3, 500, 96, 60, 8, 1e-3, 0.99
#: The shortest part of a text whose map may stand for the whole one's.
_PART = 0.7


def versions(pattern: Map, label: str, rng: np.random.Generator, n: int = VERSIONS) -> list[Map]:
    """The map itself and changes of it that leave its label as it is.

    Turned by 180°, unless it is causal: the text read backwards; columns stay columns. The first
    part of a causal map is the map of the shorter text; a part of another map is one only nearly,
    so it is taken only where no column can get lost with the rest. Blocks are never cut.

    >>> made = versions(np.eye(20, dtype=np.float32), "diagonal", np.random.default_rng(0))
    >>> len(made), all(np.allclose(one.sum(axis=1), 1) for one in made)
    (8, True)
    """
    causal = not np.triu(pattern, 1).any()
    found = [pattern]
    while len(found) < n:
        one, n_tokens = pattern, len(pattern)
        if not causal and rng.random() < 0.5:
            one = one[::-1, ::-1]
        if label != "block" and n_tokens >= 16 and rng.random() < 0.6:
            kept = int(n_tokens * rng.uniform(_PART, 1))
            if causal:
                one = one[:kept, :kept]
            elif label in ("diagonal", "heterogeneous"):
                start = int(rng.integers(0, n_tokens - kept + 1))
                one = one[start : start + kept, start : start + kept]
        sums = np.maximum(one.sum(axis=1, keepdims=True), 1e-9)
        found.append(np.ascontiguousarray(one / sums, dtype=np.float32))
    return found


def learn_from_real(
    network: PatternNetwork,
    images: Float[Tensor, "map size size"],
    targets: Int[Tensor, " map"],
    real: LabelledMaps,
    *,
    runs: int = RUNS,
    steps: int = STEPS,
    seed: int = SEED,
    said: Said = lambda words: None,
) -> PatternNetwork:
    """A network that has seen `images` goes on with them and real maps, side by side.

    All shapes come equally often. The network starts from its weights as they are stored, in half
    precision; a run's result is the running mean of its weights, and the mean over runs with other
    seeds is the network: they begin at one place and end near each other, and their mean is less
    a matter of chance than any of them. One thread, like `train_network`.

    Source: Wortsman et al. 2022, "Model soups", §2 (uniform soup); Izmailov et al. 2018, "Averaging
    weights leads to wider optima and better generalization", §3.
    """
    learnt = []
    for run in range(runs):
        with alone_and_seeded(seed + run):
            said(f"real maps, run {run + 1} of {runs}")
            learnt.append(_learn(network, images, targets, real, steps, seed + run, said))
    found = copy.deepcopy(learnt[0])
    with torch.no_grad():
        for kept, *all_ in zip(found.parameters(), *(o.parameters() for o in learnt), strict=True):
            kept.copy_(torch.stack(all_).mean(dim=0))
    return found


def _learn(
    network: PatternNetwork,
    images: Float[Tensor, "map size size"],
    targets: Int[Tensor, " map"],
    real: LabelledMaps,
    steps: int,
    seed: int,
    said: Said,
) -> PatternNetwork:
    rng = np.random.default_rng(seed)
    own, named = _prepared(real, rng)
    often, fill = _evenly(named), _evenly(targets)
    learner = copy.deepcopy(network).half().float().train().requires_grad_(True)
    mean = copy.deepcopy(learner).eval().requires_grad_(False)
    optimizer = torch.optim.AdamW(learner.parameters(), lr=RATE, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, RATE, total_steps=steps, pct_start=0.2
    )
    loss_of = nn.CrossEntropyLoss(label_smoothing=0.05)
    total = 0.0
    for step in range(1, steps + 1):
        a = torch.multinomial(often, REAL, replacement=True)
        b = torch.multinomial(fill, BATCH - REAL, replacement=True)
        seen, wanted = torch.cat([own[a], images[b]]), torch.cat([named[a], targets[b]])
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
) -> tuple[Float[Tensor, "map size size"], Int[Tensor, " map"]]:
    """Every version of every real map as an image, and its label."""
    labels = real.targets
    made = [
        one
        for pattern, label in zip(real.maps, labels.tolist(), strict=True)
        for one in versions(pattern, PATTERNS[label], rng)
    ]
    return images_of(made), torch.from_numpy(np.repeat(labels, VERSIONS))


def _evenly(labels: Int[Tensor, " map"]) -> Float[Tensor, " map"]:
    """How often each map is to come so that all labels come equally often."""
    return 1 / torch.bincount(labels, minlength=len(PATTERNS))[labels].double()
