"""How much more than average heads attend to the tokens of a role."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from pydantic import Field, field_validator, model_validator
from torch import Tensor

from headscope.errors import UsageError
from headscope.measures.kernels.sparse_sieves import SparseSieves, sieve_scores
from headscope.measures.later import Later
from headscope.measures.measure import MEASURES, LayerMeasure, Place, Total
from headscope.measures.roles import ROLES, Role, RoleBatch, RoleOptions
from headscope.measures.roles.role import Direction
from headscope.models import View
from headscope.stats import log_bets, log_e_value
from headscope.types import Encoded, Result
from headscope.values import Bundle, Moments, Sample, Sum

T = TypeVar("T")


def sieve_weights(
    sieves: Bool[Tensor, "batch role query key"], allowed: Bool[Tensor, "batch query key"]
) -> tuple[Float[Tensor, "batch pair role"], Bool[Tensor, "batch role"]]:
    """What a weight of a pattern is worth for each role, and which roles a text has.

    With n(q) the keys that q may see and T the queries whose sieve S(q) is not empty, the weight
    of (q, k) is n(q) / (|S(q)| · |T|) inside the sieve and 0 outside, so that the sum over all
    pairs of weight · pattern is the sequence's score. `pair` runs over query × key.
    """
    chosen = sieves & allowed[:, None]
    size = chosen.sum(dim=-1)  # batch role query
    rows = size > 0
    n_rows = rows.sum(dim=-1, keepdim=True)
    share = allowed.sum(dim=-1)[:, None] / (size.clamp(min=1) * n_rows.clamp(min=1))
    weights = chosen * share[..., None].to(torch.float32)
    return weights.flatten(2).transpose(1, 2), n_rows[..., 0] > 0


def sieve_bias(
    pattern: Float[Tensor, "batch head query key"],
    weights: Float[Tensor, "batch pair role"],
    present: Bool[Tensor, "batch role"],
) -> Float[Tensor, "batch head role"]:
    """Every head's score for every role in one matrix product; NaN where a text lacks the role."""
    return (pattern.flatten(2) @ weights).masked_fill(~present[:, None], torch.nan)


@MEASURES.register("sieve")
class SieveBias(LayerMeasure):
    """How many times more than average a head attends to the tokens that a role names.

    A role gives every token t a set of keys, its sieve S(t). For a sequence of n tokens

        bias(t) = (1/|S(t)| · Σ_{k ∈ S(t)} pattern[t, k]) / (1/n)

    and the sequence's score is the mean over its tokens whose sieve is not empty; then mean,
    standard deviation and count over the sequences that have the role. In a causal stack n is the
    number of keys that t may see, and the sieve has only such keys. 1 is a head that treats the
    sieve like any other tokens; 3 one that gives it three times as much per token; the most
    possible is n/|S|, so short sequences and large sieves (`block`) cannot score high.

    A high score says where the weight goes, not why: words that depend on each other often stand
    side by side, so a head that looks at neighbours scores on `syntactic` too. A role that no
    sequence has (no second segment, no [SEP], no dependencies) is absent from the tables, and
    where queries and keys are different texts only roles of the key alone remain. `headscope roles`
    tests the means against a threshold.

    `sieve_scores` keeps single scores of up to `keep` sequences: those with the smallest hash of
    their id, so the same ones however the corpus was cut, and the same ones for every model.

    Source: Pande et al. 2021, "Attention Sieves" and "Sieve Bias Score"; `rare` from Voita et al.
    2019, `bpe` and `interrogative` from Correia et al. 2019, as their related work lists them.
    Notation: our score is their β averaged over tokens. Departures: `prev_local` and `next_local`
    exclude the token itself, which the paper leaves open; their released code multiplies the block
    score by the row's entropy, which is not reproduced.

    >>> pattern = torch.tensor([[[[0.0, 1.0], [0.5, 0.5]]]])
    >>> previous = torch.tensor([[[[False, False], [True, False]]]])
    >>> sieve_bias(pattern, *sieve_weights(previous, torch.ones(1, 2, 2, dtype=torch.bool)))
    tensor([[[1.]]])
    """

    name: ClassVar[str] = "sieve"
    tables: ClassVar[tuple[str, ...]] = ("sieve", "sieve_scores")

    roles: tuple[str, ...] = Field(
        default_factory=lambda: tuple(ROLES), description="roles to score, comma-separated"
    )
    window: int = Field(2, ge=1, description="how far `local` roles reach, in tokens")
    direction: Direction = Field("both", description="which way dependencies are followed")
    rare_quantile: float = Field(0.1, gt=0.0, lt=1.0, description="share of word types `rare` is")
    keep: int = Field(1000, ge=0, description="sequences whose single scores are kept")
    decide_at: float | None = Field(
        None, gt=0.0, description="gather evidence against this threshold (set by --until-decided)"
    )
    origins: dict[str, str] = Field(
        default_factory=dict, description="where roles that are not built in come from (recorded)"
    )

    @field_validator("roles", mode="before")
    @classmethod
    def _listed(cls, given: Any) -> Any:
        if isinstance(given, str):
            given = tuple(name.strip() for name in given.split(",") if name.strip())
        if isinstance(given, list | tuple) and not given:
            raise ValueError("no role at all")
        return given

    @model_validator(mode="after")
    def _known(self) -> SieveBias:
        """Every role exists here, and comes from where the run says."""
        here = {name: ROLES[name].origin for name in self.roles if ROLES[name].origin}
        if self.origins and self.origins != here:
            raise ValueError(f"roles come from {here or 'nowhere'} here, found {self.origins}")
        object.__setattr__(self, "origins", here)
        return self

    def look(self, view: View) -> Later[Bundle]:
        scores = self._bias(view)
        ids = view.once("sieve/ids", lambda: [e.sequence.id for e in view.batch.encoded])
        # Rounding can leave a weight of -0 or a hair below; a share of attention is not negative.
        return Later((scores.clamp(min=0.0),), partial(self._value, ids))

    def _bias(self, view: View) -> Float[Tensor, "batch head role"]:
        """`sieve_bias`; on the processor only what lies in a sieve is read."""
        if view.pattern.device.type != "cpu":
            return sieve_bias(view.pattern, *self._built(view, sieve_weights))
        sparse = self._built(view, lambda s, a: SparseSieves.of(s.numpy(), a.numpy()))
        return torch.from_numpy(sieve_scores(view.pattern.numpy(), sparse, torch.get_num_threads()))

    def _value(self, ids: Sequence[str], found: NDArray[np.float64]) -> Bundle:
        parts: dict[str, Any] = {
            "moments": Moments.of(found, axis=0),
            "kept": Sample.of(ids, found, k=self.keep),
        }
        if self.decide_at is not None:
            parts["bets"] = Sum(log_bets(found, self.decide_at))
        return Bundle(parts)

    def _built(self, view: View, build: Callable[[Tensor, Tensor], T]) -> T:
        """Built once per batch; again only where layers may see different keys (local windows)."""
        allowed = view.allowed[:, 0] & view.queries.real[:, :, None] & view.keys.real[:, None, :]
        known: list[tuple[Tensor, T]] = view.once("sieve/weights", list)
        for seen, built in known:
            if torch.equal(seen, allowed):
                return built
        fresh = build(view.once("sieve/sieves", lambda: self._sieves(view)), allowed)
        known.append((allowed, fresh))
        return fresh

    def _sieves(self, view: View) -> Bool[Tensor, "batch role query key"]:
        side = view.stack == "decoder" and view.batch.target is not None
        encoded = tuple((e.target or e) if side else e for e in view.batch.encoded)
        options = RoleOptions(self.window, self.direction, self.rare_quantile)
        name = "target" if side else "source"
        seen = RoleBatch(view.keys, encoded, view.batch.facts, options, view.batch, name)
        shape = (len(encoded), view.queries.real.shape[1], view.keys.real.shape[1])
        sieves = torch.zeros(shape[0], len(self.roles), *shape[1:], dtype=torch.bool)
        sieves = sieves.to(view.pattern.device)
        roles = [ROLES[name] for name in self.roles]
        for i, role in enumerate(roles):
            if view.stack == "cross" and not role.across:
                continue
            sieves[:, i] = checked(role, role.sieve(seen), shape)
        having = torch.tensor([[_has(e, role) for role in roles] for e in encoded])
        return sieves.logical_and_(having.to(sieves.device)[:, :, None, None])

    def finish(self, total: Total) -> Result:
        bundles = list(total.of(Bundle))
        tables = {"sieve": self._means(bundles), "sieve_scores": self._scores(bundles)}
        if self.decide_at is not None:
            tables["sieve_evidence"] = self._evidence(bundles)
        return Result(tables)

    def _means(self, bundles: Sequence[tuple[Place, Bundle]]) -> dict[str, Any]:
        def of(bundle: Bundle) -> dict[str, NDArray[Any]]:
            moments = bundle.part("moments", Moments)
            return {"mean": moments.mean, "std": moments.std, "n": moments.n}

        return _tidy(bundles, self.roles, of)

    def _evidence(self, bundles: Sequence[tuple[Place, Bundle]]) -> dict[str, Any]:
        def of(bundle: Bundle) -> dict[str, NDArray[Any]]:
            log_e = log_e_value(bundle.part("bets", Sum).total)
            return {"log_e_value": log_e, "tau": np.full(log_e.shape, self.decide_at)}

        return _tidy(bundles, self.roles, of)

    def _scores(self, bundles: Sequence[tuple[Place, Bundle]]) -> dict[str, Any]:
        """One row per kept sequence, head and role that the sequence has."""
        columns: dict[str, list[NDArray[Any]]] = {
            name: [] for name in ("sequence", "stack", "layer", "head", "role", "score")
        }
        roles = np.array(self.roles, dtype=object)
        for place, bundle in bundles:
            kept = bundle.part("kept", Sample)
            which, heads, role = np.nonzero(~np.isnan(kept.rows))
            parts = {
                "sequence": np.array(kept.ids, dtype=object)[which] if len(which) else which,
                "stack": np.full(which.shape, place.stack, dtype=object),
                "layer": np.full(which.shape, place.layer),
                "head": heads,
                "role": roles[role],
                "score": kept.rows[which, heads, role].astype(np.float64),
            }
            for name, part in parts.items():
                columns[name].append(part)
        return {
            name: np.concatenate(parts) if sum(map(len, parts)) else []
            for name, parts in columns.items()
        }


def checked(role: Role, sieve: Tensor, shape: tuple[int, int, int]) -> Tensor:
    """A role's sieve if it is one; else an error that names the role."""
    try:
        if sieve.dtype != torch.bool:
            raise ValueError(f"a tensor of {sieve.dtype}")
        return sieve.expand(shape)
    except (AttributeError, RuntimeError, ValueError) as error:
        found = tuple(sieve.shape) if isinstance(sieve, Tensor) else type(sieve).__name__
        raise UsageError(
            f"role {role.name!r} ({role.origin or role.sieve.__module__}): found {found}, {error}; "
            f"expected a bool tensor [batch, query, key] = {list(shape)}"
        ) from None


def _has(encoded: Encoded, role: Role) -> bool:
    return role.needs <= encoded.sequence.annotations


def _tidy(bundles: Sequence[tuple[Place, Bundle]], roles: Sequence[str], of: Any) -> dict[str, Any]:
    """Arrays of shape [head, role] per layer as columns; roles that a stack lacks are absent."""
    columns: dict[str, list[NDArray[Any]]] = {}
    present = {
        stack: np.any(
            [b.part("moments", Moments).n.any(axis=0) for p, b in bundles if p[0] == stack], axis=0
        )
        for stack in {place.stack for place, _ in bundles}
    }
    names = np.array(roles, dtype=object)
    for place, bundle in bundles:
        arrays = of(bundle)
        shape = next(iter(arrays.values())).shape
        heads, role = np.nonzero(np.broadcast_to(present[place.stack], shape))
        parts = {
            "stack": np.full(heads.shape, place.stack, dtype=object),
            "layer": np.full(heads.shape, place.layer),
            "head": heads,
            "role": names[role],
            **{name: array[heads, role] for name, array in arrays.items()},
        }
        for name, part in parts.items():
            columns.setdefault(name, []).append(part)
    return {
        name: np.concatenate(parts) if sum(map(len, parts)) else []
        for name, parts in columns.items()
    }
