"""What word vectors and the order of words tell about heads: the bar a probe has to clear."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from headscope.probes.parse_batch import ROOT, ParseBatch

#: Distances up to this have an indicator of their own, on each side.
NEAR = 5
N_FEATURES = 2 * NEAR + 4


def distance_features(n_units: int) -> Float[Tensor, "unit unit feature"]:
    """What is known about the place of a candidate, seen from the dependent.

    Indicators of −5 … −1 and 1 … 5, and on each side the distance in tens of words and the
    logarithm of 1 + distance. Source: Clark et al. 2019, footnote 5 (in words, without numbers).

    >>> distance_features(4)[1, 3].nonzero().flatten().tolist()     # two ahead
    [6, 11, 13]
    """
    place = torch.arange(n_units)
    offset = place[None, :] - place[:, None]
    near = [(offset == d).float() for d in (*range(-NEAR, 0), *range(1, NEAR + 1))]
    sides = (-offset).clamp(min=0), offset.clamp(min=0)
    far = [f(side) for f in (lambda x: x / 10, torch.log1p) for side in sides]
    return torch.stack([*near, *far], dim=-1)


class DistanceProbe(nn.Module):
    """One hidden layer of 256 tanh units over both words' vectors and their distance.

        score(i | j) = o · tanh(A v_i + B v_j + D φ(i − j) + c)

    ROOT is a candidate with a learnt vector and no distance. Source: Clark et al. 2019, §5, second
    baseline.
    """

    def __init__(self, n_dimensions: int, n_hidden: int = 256) -> None:
        super().__init__()
        self.candidate = nn.Linear(n_dimensions, n_hidden, bias=False)
        self.dependent = nn.Linear(n_dimensions, n_hidden)
        self.distance = nn.Linear(N_FEATURES, n_hidden, bias=False)
        self.root = nn.Parameter(torch.zeros(n_hidden))
        self.out = nn.Linear(n_hidden, 1, bias=False)

    def forward(
        self, vectors: Float[Tensor, "batch unit dimension"], batch: ParseBatch
    ) -> Float[Tensor, "batch unit unit"]:
        """score[dependent, candidate]; −inf where there is no candidate."""
        features = distance_features(vectors.shape[1]).to(vectors.device)
        features[:, ROOT] = 0.0
        candidate = self.candidate(vectors)
        candidate = torch.cat([self.root.expand(len(vectors), 1, -1), candidate[:, 1:]], dim=1)
        hidden = self.dependent(vectors)[:, :, None] + candidate[:, None]
        hidden = torch.tanh(hidden + self.distance(features))
        scores: Tensor = self.out(hidden).squeeze(-1)
        return scores.masked_fill(~batch.candidates, -torch.inf)


def right_branching(batch: ParseBatch) -> Tensor:
    """Every word's head is the next word; the last word's is ROOT."""
    n_units = batch.real.shape[1]
    following = torch.arange(1, n_units + 1, device=batch.real.device).expand(len(batch.real), -1)
    n_words = batch.real.sum(dim=1, keepdim=True)
    return torch.where(following < n_words, following, ROOT)
