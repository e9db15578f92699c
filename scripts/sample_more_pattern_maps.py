"""Draw the second round of real maps: `python scripts/sample_more_pattern_maps.py FOLDER MODEL…`.

The models are those of `sample_pattern_maps.py`; `--known` is its label file, whose maps are not
drawn again. `--copies` are fine-tuned copies of the first model: of them, only heads that are for
training there. `--proteins` is a model of amino acids, which has no part in the test set at all.
Texts are made of the shipped passages with another seed and in more ways. Three label files are
written: `train.json` and `test.json`, drawn by the crude kinds alone, and `train2.json`, half of
it rare kinds, half of it maps a network (`--network`, the one of made-up maps only) was least sure
about. No network has a say in what is drawn for the test set.
"""

from __future__ import annotations

import argparse
import dataclasses
import random
from collections.abc import Sequence as Several
from pathlib import Path

import numpy as np
import torch

from headscope.corpora import shipped_corpus
from headscope.measures.patterns.labelled_maps import Label, LabelledMaps, load_maps, save_maps
from headscope.measures.patterns.network import network_at
from headscope.measures.patterns.sampling import Candidate, candidates, draw_evenly, is_development
from headscope.measures.patterns.seeing import seen_maps
from headscope.models import load
from headscope.types import Sequence

SEED = 2026
SHARE = 0.25
#: Germline-like variable domains of antibodies; the draw changes some of their residues.
CHAINS = (
    "EVQLVESGGGLVQPGGSLRLSCAASGFTFSSYAMSWVRQAPGKGLEWVSAISGSGGSTYYADSVKGRFTISRDNSKNTLYLQMNSLRAED"
    "TAVYYCAK",
    "DIQMTQSPSSLSASVGDRVTITCRASQSISSYLNWYQQKPGKAPKLLIYAASSLQSGVPSRFSGSGSGTDFTLTISSLQPEDFATYYCQQ"
    "SYSTP",
    "QVQLQQSGAELARPGASVKMSCKASGYTFTRYTMHWVKQRPGQGLEWIGYINPSRGYTNYNQKFKDKATLTTDKSSSTAYMQLSSLTSED"
    "SAVYYCAR",
)


def texts(seed: int) -> list[Sequence]:
    """Sixty-four texts: a first sentence, pairs even and uneven, three to thirty sentences."""
    passages = list(shipped_corpus().sequences())
    rng = random.Random(seed)
    found = [Sequence(f"{p.id}/first", p.text) for p in rng.sample(passages, 8)]
    found += [Sequence(f"{p.id}/pair", p.text, p.pair) for p in rng.sample(passages, 8)]

    def sentences(start: int) -> list[str]:
        return [s for p in passages[start : start + 16] for s in (p.text, str(p.pair))]

    for start in rng.sample(range(len(passages) - 16), 8):
        s, name = sentences(start), passages[start].id
        found.append(Sequence(f"{name}/three", " ".join(s[:3])))
        found.append(Sequence(f"{name}/eight", " ".join(s[:8])))
        found.append(Sequence(f"{name}/halves", " ".join(s[:2]), " ".join(s[2:4])))
        found.append(Sequence(f"{name}/twelve", " ".join(s[:6]), " ".join(s[6:12])))
        found.append(Sequence(f"{name}/uneven", " ".join(s[:2]), " ".join(s[2:8])))
    for start in rng.sample(range(len(passages) - 16), 4):
        s, name = sentences(start), passages[start].id
        found.append(Sequence(f"{name}/twenty", " ".join(s[:20])))
        found.append(Sequence(f"{name}/thirty", " ".join(s[:15]), " ".join(s[15:30])))
    return found


def proteins(seed: int) -> list[Sequence]:
    """Twelve chains with a few residues changed, some cut short, every third a pair."""
    rng = random.Random(seed)
    found = []
    for k in range(12):
        chain = list(CHAINS[k % 3])
        for _ in range(rng.randrange(4, 20)):
            chain[rng.randrange(len(chain))] = rng.choice("ACDEFGHIKLMNPQRSTVWY")
        start, n = rng.choice([0, 0, 20, 40]), rng.choice([20, 40, 60, 98])
        if k % 3 == 2:
            other = " ".join(CHAINS[(k + 1) % 3][: rng.choice([30, 60, 95])])
            found.append(Sequence(f"a{k:02d}/pair", " ".join(chain[:n]), other))
        else:
            found.append(Sequence(f"a{k:02d}/chain", " ".join(chain[start : start + n])))
    return found


def unsure(pool: Several[Candidate], weights: str, n: int, per_head: int) -> list[Candidate]:
    """The maps whose two best names are closest, one of them block or heterogeneous."""
    with torch.inference_mode():
        best = network_at(weights)(seen_maps([c.map for c in pool])).softmax(dim=1).topk(2, dim=1)
    margin, rare = best.values.diff(dim=1).abs()[:, 0].numpy(), (best.indices >= 3).any(dim=1)
    used: dict[tuple[str, int, int], int] = {}
    found: list[Candidate] = []
    for i in np.argsort(margin):
        one = pool[i].label
        head = (one.model, one.layer, one.head)
        if rare[i] and used.get(head, 0) < per_head and len(found) < n:
            used[head] = used.get(head, 0) + 1
            found.append(pool[i])
    return found


def written(
    path: Path, parts: list[tuple[tuple[Label, ...], tuple[np.ndarray, ...]]], split: str
) -> None:
    """All parts in random order, each map once."""
    both = {label: one for labels, maps in parts for label, one in zip(labels, maps, strict=True)}
    order = random.Random(SEED).sample(list(both), len(both))
    labels = tuple(dataclasses.replace(one, split=split) for one in order)
    save_maps(path, LabelledMaps(labels, tuple(both[one] for one in order)))
    print(f"{len(order)} maps in {path}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--known", type=Path, required=True)
    parser.add_argument("--copies", nargs="*", default=[])
    parser.add_argument("--proteins", nargs="*", default=[])
    parser.add_argument("--network", default="")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    asked.folder.mkdir(parents=True, exist_ok=True)
    known = {_place(one) for one in load_maps(asked.known).labels}
    found = [c for name in asked.models for c in candidates(load(name), texts(SEED))]
    found = [c for c in found if _place(c.label) not in known]
    test = [c for c in found if not is_development(c.label, SHARE)]
    train = [c for c in found if is_development(c.label, SHARE)]
    train += [c for name in asked.proteins for c in candidates(load(name), proteins(SEED))]
    base = load(asked.models[0]).name
    copied = [
        c
        for name in asked.copies
        for c in candidates(load(name), texts(SEED + 1))
        if is_development(dataclasses.replace(c.label, model=base), SHARE)
    ]
    draws = [
        draw_evenly(train, 230, 2026, per_head=8),
        draw_evenly(train, 90, 2027, rare=True, per_head=10),
        draw_evenly(random.Random(5).sample(copied, len(copied)), 40, 2028, per_head=2),
    ]
    written(asked.folder / "train.json", [(d.labels, d.maps) for d in draws], "training")
    drawn = draw_evenly(test, 150, 2029, rare=True, per_head=6)
    written(asked.folder / "test.json", [(drawn.labels, drawn.maps)], "test")
    taken = {_place(one) for d in draws for one in d.labels}
    left = [c for c in train if _place(c.label) not in taken]
    rare = draw_evenly(left, 100, 2031, rare=True, per_head=8)
    taken = {_place(one) for one in rare.labels}
    left = [c for c in left if _place(c.label) not in taken]
    close = unsure(random.Random(9).sample(left, min(1500, len(left))), asked.network, 110, 3)
    parts = (tuple(c.label for c in close), tuple(c.map for c in close))
    written(asked.folder / "train2.json", [(rare.labels, rare.maps), parts], "training")


def _place(one: Label) -> tuple[str, str, int, int, str]:
    return one.model, one.stack, one.layer, one.head, one.sequence


if __name__ == "__main__":
    main()
