"""What a role is: a named function from a batch of texts to a sieve."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias, TypeVar

import torch
from jaxtyping import Bool
from torch import Tensor

from headscope.errors import UsageError
from headscope.models import Batch, Tokens
from headscope.registry import Registry
from headscope.types import Encoded, Facts

T = TypeVar("T")

Direction: TypeAlias = Literal["both", "dependent_to_head", "head_to_dependent"]


@dataclass(frozen=True, slots=True)
class RoleOptions:
    """What the built-in roles leave open; the `sieve` measure has the same parameters."""

    window: int = 2
    direction: Direction = "both"
    rare_quantile: float = 0.1


@dataclass(frozen=True, eq=False)
class RoleBatch:
    """What a role sees: the texts of a batch and what their tokens are, never the attention.

    `tokens` are the padded tensors of the keys, `encoded` the same texts one by one with their
    annotations, `facts` the counts of the whole corpus.
    """

    tokens: Tokens
    encoded: tuple[Encoded, ...]
    facts: Facts
    options: RoleOptions
    batch: Batch
    side: str

    def once(self, key: str, build: Callable[[], T]) -> T:
        """Compute something once for this batch and share it between roles."""
        return self.batch.once(f"roles/{self.side}/{key}", build)

    def keys_where(self, chosen: Iterable[Iterable[bool]]) -> Bool[Tensor, "batch 1 key"]:
        """A sieve that is the same for every query, from one list of flags per text."""
        marked = torch.zeros(self.tokens.real.shape, dtype=torch.bool)
        for i, flags in enumerate(chosen):
            row = torch.as_tensor(list(flags), dtype=torch.bool)
            marked[i, : len(row)] = row
        return marked.to(self.tokens.real.device)[:, None, :]


#: Returns True where a query's sieve has a key; any shape that broadcasts to [batch, query, key].
Sieve: TypeAlias = Callable[[RoleBatch], Tensor]


@dataclass(frozen=True)
class Role:
    """A named sieve.

    `needs` names the annotations a sequence must carry; one without them has no score for the
    role. `across` marks roles that look at the keys alone, so that they make sense where queries
    and keys are different texts. `origin` is empty for the roles that headscope brings, and names
    the file and its hash for a user's.
    """

    name: str
    sieve: Sieve
    needs: frozenset[str] = frozenset()
    across: bool = False
    origin: str = ""

    def __post_init__(self) -> None:
        # The registry knows a unit that is registered again (a reload) by where it was defined.
        for name in ("__module__", "__qualname__", "__doc__"):
            object.__setattr__(self, name, getattr(self.sieve, name))

    @property
    def summary(self) -> str:
        return (self.sieve.__doc__ or "").strip().partition("\n")[0]


ROLES: Registry[Role] = Registry("role", "headscope.measures.roles")

#: Where roles that are being registered come from; set while a user's file is read.
_origin: list[str] = []


def role(name: str, *, needs: Iterable[str] = (), across: bool = False) -> Callable[[Sieve], Sieve]:
    """Decorator: make a function from a batch to a sieve known as a role."""
    if not name.isidentifier():
        raise UsageError(f"a role named {name!r}; expected letters, digits and underscores")

    def add(function: Sieve) -> Sieve:
        origin = _origin[-1] if _origin else ""
        ROLES.register(name)(Role(name, function, frozenset(needs), across, origin))
        return function

    return add
