"""Training the network on made-up maps; `real_training` goes on from there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import torch
from jaxtyping import Float, Int
from threadpoolctl import threadpool_limits
from torch import Tensor, nn

from headscope.measures.patterns.classes import PATTERNS
from headscope.measures.patterns.network import PatternNetwork
from headscope.measures.patterns.seeing import seen_maps
from headscope.measures.patterns.synthetic import synthetic_map

#: What `headscope patterns train` does unless told otherwise; the shipped weights are its result.
N_MAPS, EPOCHS, BATCH, SEED, RATE = 24_000, 12, 128, 1908, 2e-3
#: Which shape comes when: blocks are rarer than the others, in life too.
TURNS = (0, 1, 2, 3, 4, 0, 1, 2, 4)

Said = Callable[[str], None]


def synthetic_images(
    n_maps: int, seed: int, said: Said = lambda words: None
) -> tuple[Float[Tensor, "map layer size size"], Int[Tensor, " map"]]:
    """Made-up maps, as many of each shape (of blocks half as many), with their labels."""
    targets = np.resize(TURNS, n_maps)
    parts = []
    with threadpool_limits(1):  # small products: more threads would only wait for each other
        for start in range(0, n_maps, 2000):
            stop = min(start + 2000, n_maps)
            made = (synthetic_map(PATTERNS[targets[i]], seed + i) for i in range(start, stop))
            parts.append(seen_maps(made))
            said(f"{stop:,} of {n_maps:,} maps made")
    return torch.cat(parts), torch.from_numpy(targets)


def varied(images: Float[Tensor, "map layer size size"]) -> Float[Tensor, "map layer size size"]:
    """The same shapes, never the same maps twice: more or less peaked, with fresh grain.

    The rulers stay: a shape's name rests on them.
    """
    maps, rulers = images[:, :1], images[:, 1:]
    n = len(images)
    peaked = maps ** torch.empty(n, 1, 1, 1).uniform_(0.85, 1.2)
    grain = torch.randn_like(maps) * torch.empty(n, 1, 1, 1).uniform_(0.0, 0.3)
    found = peaked * grain.exp()
    return torch.cat([found / found.sum(dim=3, keepdim=True), rulers], dim=1)


def train_network(
    images: Float[Tensor, "map layer size size"],
    targets: Int[Tensor, " map"],
    *,
    epochs: int = EPOCHS,
    seed: int = SEED,
    said: Said = lambda words: None,
) -> PatternNetwork:
    """Cross-entropy, AdamW, one cycle of learning rates; the same inputs give the same weights.

    One thread only: with several, sums are taken in another order, and the weights drift apart.
    """
    with alone_and_seeded(seed):
        return _train(images, targets, epochs, said)


@contextmanager
def alone_and_seeded(seed: int) -> Iterator[None]:
    """One thread and torch's random numbers from a seed; afterwards both are as they were."""
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            yield
    finally:
        torch.set_num_threads(n_threads)


def _train(
    images: Float[Tensor, "map layer size size"],
    targets: Int[Tensor, " map"],
    epochs: int,
    said: Said,
) -> PatternNetwork:
    network = PatternNetwork()
    optimizer = torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=0.01)
    n_steps = epochs * -(-len(images) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=n_steps)
    loss_of = nn.CrossEntropyLoss(label_smoothing=0.05)
    network.train()
    for epoch in range(epochs):
        total = 0.0
        for chosen in torch.split(torch.randperm(len(images)), BATCH):
            optimizer.zero_grad()
            loss = loss_of(network(varied(images[chosen])), targets[chosen])
            loss.backward()
            optimizer.step()
            schedule.step()
            total += float(loss.detach()) * len(chosen)
        said(f"epoch {epoch + 1} of {epochs}: loss {total / len(images):.4f}")
    network.eval().requires_grad_(False)
    return network
