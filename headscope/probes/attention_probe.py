"""Which word is a word's head, told from attention maps alone, or with word vectors."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from headscope.probes.parse_batch import ROOT, ParseBatch, WordMaps


class AttentionProbe(nn.Module):
    """A graph-based parser whose only features are attention weights.

        p(i | j) ∝ exp Σ_k  w_k α^k_ij + u_k α^k_ji

    α^k_ij is the attention from candidate i to dependent j in map k; one map per head. With word
    vectors v the weights depend on the two words,

        w_k = a_k + W_k · (v_i ⊕ v_j),    u_k = b_k + U_k · (v_i ⊕ v_j)

    and the probe without vectors is the case W = U = 0. ROOT is a candidate with weights of its
    own: attention to and from the special tokens means something else than between words.

        score(ROOT | j) = c + r · v_j + Σ_k  p_k α^k_{special→j} + q_k α^k_{j→special}

    Maps are measured in units of their model's typical spread (`set_scale`). That changes no score
    a probe can reach, but lets Adam reach it for a model whose maps are flat, such as one with
    random weights, from the same start as for one whose maps are sharp.

    Only these weights are learnt; model and vectors stay as they are. A high score says that the
    maps hold the syntax in a form this linear reader finds, not that the model parses with them.

    Source: Clark et al. 2019, §5. Departures: the constants a and b beside W and U; the paper does
    not say how it treats ROOT.
    """

    def __init__(self, n_maps: int, n_dimensions: int = 0) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(2, n_maps))  # a, b
        self.root_weight = nn.Parameter(torch.zeros(2, n_maps))  # p, q
        self.root_bias = nn.Parameter(torch.zeros(1))  # c
        if n_dimensions:
            # W for the candidate's and the dependent's half of (v_i ⊕ v_j), then U for both
            self.words = nn.Parameter(torch.zeros(4, n_maps, n_dimensions))
            self.root_words = nn.Parameter(torch.zeros(n_dimensions))  # r
        self.scale: Tensor
        self.register_buffer("scale", torch.ones(()))
        self.n_maps, self.n_dimensions = n_maps, n_dimensions

    def set_scale(self, spread: float) -> None:
        """Divide all maps by this from now on."""
        self.scale.fill_(1 / max(spread, 1e-8))

    def forward(
        self, maps: WordMaps, vectors: Float[Tensor, "batch unit dimension"], batch: ParseBatch
    ) -> Float[Tensor, "batch unit unit"]:
        """score[dependent, candidate]; −inf where there is no candidate."""
        from_candidate, from_dependent = self.weight * self.scale  # w and u of the formula
        from_root, to_root = self.root_weight * self.scale
        root = self.root_bias + (
            maps.by_key[..., ROOT] @ from_root + maps.by_query[..., ROOT] @ to_root
        )
        if self.n_dimensions:
            of_words = torch.einsum("bxd,skd->bxsk", vectors, self.words * self.scale)
            w_candidate, w_dependent, u_candidate, u_dependent = of_words.unbind(dim=2)
            # Σ_k (P_ik + Q_jk) α_k: each half is a product over maps with the other word free
            key_rows = torch.stack([w_dependent + from_candidate, u_candidate], dim=2)
            query_rows = torch.stack([u_dependent + from_dependent, w_candidate], dim=2)
            at_key, at_query = key_rows @ maps.by_key, query_rows @ maps.by_query
            scores = at_key[:, :, 0] + at_query[:, :, 0]
            scores = scores + (at_key[:, :, 1] + at_query[:, :, 1]).transpose(1, 2)
            root = root + vectors @ self.root_words
        else:
            scores = torch.einsum("k,bxky->bxy", from_candidate, maps.by_key)
            scores = scores + torch.einsum("k,bxky->bxy", from_dependent, maps.by_query)
        scores = torch.cat([root[..., None], scores[..., 1:]], dim=-1)
        return scores.masked_fill(~batch.candidates, -torch.inf)

    @torch.no_grad()
    def weights_at(
        self,
        candidates: Int[Tensor, " arc"],
        vectors: Float[Tensor, "unit dimension"],
        dependents: Int[Tensor, " arc"],
    ) -> Float[Tensor, "direction map"]:
        """Σ over arcs of the weights w and u for these pairs of words, in units of spread."""
        total = self.weight * len(candidates)
        if self.n_dimensions:
            head, own = vectors[candidates].sum(dim=0), vectors[dependents].sum(dim=0)
            w = self.words[0] @ head + self.words[1] @ own
            u = self.words[2] @ head + self.words[3] @ own
            total = total + torch.stack([w, u])
        return total


def squared_spread(maps: WordMaps, batch: ParseBatch) -> tuple[float, int]:
    """Σ of squared deviations from a dependent's mean over its candidates, and their number.

    Over all maps, and both directions: from the candidates to the dependent and back.
    """
    candidates = batch.candidates & batch.scored[:, :, None]
    candidates[:, :, ROOT] = False
    chosen = candidates.float()[:, :, None]
    n_candidates = chosen.sum(dim=-1, keepdim=True).clamp(min=1.0)
    total = 0.0
    for order in (maps.by_key, maps.by_query):
        mean = (order * chosen).sum(dim=-1, keepdim=True) / n_candidates
        total += float((((order - mean) * chosen) ** 2).sum(dtype=torch.float64))
    return total, 2 * maps.by_key.shape[2] * int(candidates.sum())
