"""Draw the real maps that are labelled by eye: `python scripts/sample_pattern_maps.py FILE MODEL…`.

Texts are made of the shipped passages in four ways: a first sentence alone, a passage as a pair of
segments, eight sentences as one segment, and twelve as a pair. Ten of each, drawn with the seed,
go through every model. A quarter of all heads, by a hash of their names, is for training; maps of
the others are the test set. Two draws take turns over crude kinds of maps, others look for the
two rare shapes, and for more maps of causal models.
"""

from __future__ import annotations

import argparse
import dataclasses
import random
from pathlib import Path

import torch

from headscope.corpora import shipped_corpus
from headscope.measures.patterns.labelled_maps import Label, LabelledMaps, Map, save_maps
from headscope.measures.patterns.sampling import candidates, draw_evenly, is_development
from headscope.models import load
from headscope.types import Sequence

SEED = 1908
#: Split, whether only rare kinds are drawn, how many maps, at most how many of one head, and what
#: the models' names contain. The last two draws came later, where the training set was thin.
DRAWS = (
    ("training", False, 130, 3, ""),
    ("test", False, 320, 3, ""),
    ("training", True, 30, 3, ""),
    ("test", True, 90, 3, ""),
    ("training", True, 75, 6, ""),
    ("training", False, 50, 8, "llama"),
)


def texts(seed: int = SEED) -> list[Sequence]:
    passages = list(shipped_corpus().sequences())
    rng = random.Random(seed)
    found = [Sequence(f"{p.id}/first", p.text) for p in rng.sample(passages, 10)]
    found += [Sequence(f"{p.id}/pair", p.text, p.pair) for p in rng.sample(passages, 10)]
    for start in rng.sample(range(len(passages) - 6), 10):
        sentences = [s for p in passages[start : start + 6] for s in (p.text, str(p.pair))]
        name = passages[start].id
        found.append(Sequence(f"{name}/eight", " ".join(sentences[:8])))
        found.append(Sequence(f"{name}/twelve", " ".join(sentences[:6]), " ".join(sentences[6:])))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("models", nargs="+")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    found = [c for name in asked.models for c in candidates(load(name), texts())]
    labels: list[Label] = []
    maps: list[Map] = []
    splits: list[str] = []
    for split, rare, n, per_head, name in DRAWS:
        pool = [
            c
            for c in found
            if is_development(c.label, 0.25) == (split == "training")
            and c.label not in labels
            and name in c.label.model
        ]
        drawn = draw_evenly(pool, n, SEED, rare=rare, per_head=per_head)
        labels += drawn.labels
        splits += [split] * len(drawn)
        maps += drawn.maps
    both = LabelledMaps(
        tuple(dataclasses.replace(one, split=s) for one, s in zip(labels, splits, strict=True)),
        tuple(maps),
    )
    save_maps(asked.file, both)
    print(f"{len(both)} maps of {len({one.model for one in both.labels})} models in {asked.file}")


if __name__ == "__main__":
    main()
