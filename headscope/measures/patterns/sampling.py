"""Maps to label: drawn by a seeded rule that lets rare shapes in."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.corpora import Encoder
from headscope.measures.patterns.labelled_maps import Label, LabelledMaps, Map, pooled
from headscope.models import LoadedModel, Tap, View, collate
from headscope.types import Encoded
from headscope.types import Sequence as Text

#: Crude kinds of maps, for drawing only; nobody is shown them.
KINDS = ("segments", "both", "columns", "near", "rest")
#: Kinds of a second draw, for the two rarest shapes.
RARE_KINDS = ("apart", "spread")


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A map that may be drawn, its crude kind, and its rare kind if it has one."""

    label: Label
    map: Map
    kind: str
    rare: str | None


def crude_kind(pattern: NDArray[Any], segments: NDArray[Any]) -> str:
    """What a map may be, by three sums: a draw over these kinds finds the rare shapes too.

    `near` is the mean weight at |query − key| ≤ 1, `columns` that of the two strongest columns,
    `lift` the weight inside a token's own segment less the segment's share of the tokens.

    >>> crude_kind(np.eye(16), np.zeros(16))
    'near'
    >>> crude_kind(np.full((16, 16), 1 / 16), np.zeros(16))
    'rest'
    """
    n = len(pattern)
    near = sum(pattern.diagonal(offset).sum() for offset in (-1, 0, 1)) / n
    columns = np.sort(pattern.mean(axis=0))[-2:].sum()
    lift = 0.0
    if (segments == 1).any():
        own = (segments[:, None] == segments) & (segments >= 0)[:, None]
        rows = segments >= 0
        lift = float((pattern * own)[rows].sum(axis=1).mean() - own[rows].mean())
    if lift >= 0.15 and near < 0.35 and columns < 0.45:
        return "segments"
    if columns >= 0.25 and near >= 0.25:
        return "both"
    if columns >= 0.35:
        return "columns"
    return "near" if near >= 0.35 else "rest"


def rare_kind(pattern: NDArray[Any], segments: NDArray[Any]) -> str | None:
    """Whether a map may be of one of the two shapes that are rare in small models.

    `apart`: tokens more than two apart share at least half of the weight, and inside a segment
    such a pair has over four times the weight it has across segments (causal: seen from the second
    segment, which sees both). `spread`: neither neighbours nor two columns hold much.

    >>> two = np.repeat([0, 1], 14)
    >>> rare_kind((two[:, None] == two) / 14, two), rare_kind(np.eye(28), two)
    ('apart', None)
    """
    n = len(pattern)
    distance = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    near = pattern[distance <= 1].sum() / n
    columns = np.sort(pattern.mean(axis=0))[-2:].sum()
    if columns < 0.15 and near < 0.2:
        return "spread"
    causal = not np.triu(pattern, 1).any()
    words = segments >= 0
    pairs = (distance > 2) & words & (words & (segments == 1) if causal else words)[:, None]
    if causal:
        pairs &= np.tri(n, dtype=bool)
    own = pairs & (segments[:, None] == segments)
    across = pairs & ~own
    if not (own.any() and across.any()) or near >= 0.25 or columns >= 0.3:
        return None
    far = pattern[distance > 2].sum() / n
    lifted = pattern[own].mean() > 4 * pattern[across].mean()
    return "apart" if lifted and far >= 0.5 else None


def candidates(
    model: LoadedModel, texts: Iterable[Text], *, max_tokens: int = 512
) -> Iterator[Candidate]:
    """Every map of every head over some texts, one text at a time."""
    encoder = Encoder(model.tokenizer, max_tokens=min(max_tokens, model.max_tokens))
    for encoded in encoder.encode_many(list(texts)):
        if isinstance(encoded, Encoded):
            yield from _of_one(model, encoded)


def _of_one(model: LoadedModel, encoded: Encoded) -> list[Candidate]:
    found: list[Candidate] = []

    def observer(view: View) -> None:
        if view.stack == "cross":
            return
        for head, pattern in enumerate(view.pattern[0].cpu().numpy()):
            place = (view.stack, view.layer, head)
            label = Label(model.name, *place, encoded.sequence.id, len(pattern))
            kind = crude_kind(pattern, encoded.segments)
            rare = rare_kind(pattern, encoded.segments)
            found.append(Candidate(label, pooled(pattern), kind, rare))

    with torch.inference_mode(), Tap(model.model, observer=observer, layout=model.layout) as tap:
        tap.watch(collate([encoded], pad_id=model.pad_id, device=model.device))
    return found


def is_development(label: Label, share: float) -> bool:
    """Whether a head, with all its maps, belongs to the development split: by a hash of it."""
    name = f"{label.model}/{label.stack}/{label.layer}/{label.head}".encode()
    number = int.from_bytes(hashlib.blake2b(name, digest_size=4).digest(), "big")
    return number < share * 2**32


def draw_evenly(
    found: Sequence[Candidate], n: int, seed: int, *, rare: bool = False, per_head: int = 3
) -> LabelledMaps:
    """`n` maps, taking turns over kinds and models; at most `per_head` of one head.

    Kinds that run out leave their turns to the others. The order of the result is random, so that
    it tells a labeller nothing.
    """
    rng = random.Random(seed)
    queues: dict[tuple[str, str], list[Candidate]] = {}
    for one in rng.sample(list(found), len(found)):
        kind = one.rare if rare else one.kind
        if kind is not None:
            queues.setdefault((kind, one.label.model), []).append(one)
    kinds = RARE_KINDS if rare else KINDS
    turns: dict[str, list[list[Candidate]]] = {kind: [] for kind in kinds}
    for (kind, _), queue in sorted(queues.items(), key=lambda item: item[0]):
        turns[kind].append(queue)
    used: dict[tuple[str, str, int, int], int] = {}
    drawn: list[Candidate] = []
    while len(drawn) < n and any(turns.values()):
        for kind in kinds:
            taken = _next(turns[kind], used, per_head)
            if taken is not None and len(drawn) < n:
                drawn.append(taken)
    rng.shuffle(drawn)
    return LabelledMaps(tuple(d.label for d in drawn), tuple(d.map for d in drawn))


def _next(
    queues: list[list[Candidate]], used: dict[tuple[str, str, int, int], int], per_head: int
) -> Candidate | None:
    """The next map of the model whose turn it is; the model then goes to the end."""
    while queues:
        queue = queues.pop(0)
        while queue:
            one = queue.pop()
            head = (one.label.model, one.label.stack, one.label.layer, one.label.head)
            if used.get(head, 0) < per_head:
                used[head] = used.get(head, 0) + 1
                queues.append(queue)
                return one
    return None
