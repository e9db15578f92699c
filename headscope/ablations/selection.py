"""Which heads to switch off together: one by one, by layer, role, cluster, or as the user says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Final, Literal, TypeAlias

from headscope.ablations.ablation import Ablation
from headscope.errors import UsageError
from headscope.models import Layout, head_set
from headscope.types import HeadId

#: What --by takes, with its meaning.
BY: Final[Mapping[str, str]] = {
    "head": "every head alone",
    "layer": "all heads of a layer, layer by layer",
    "role": "the heads of every role of a run, or of one: role:local",
    "cluster": "the heads of every cluster of a run, or of one: cluster:vertical",
    "set": "these heads together: set:3-1,4-2",
    "pairs": "these heads, two by two, for interactions: pairs:3-1,4-2,5-7",
    "accumulate": "more and more heads: accumulate:importance, accumulate:change, or "
    "accumulate:greedy",
}
Combine: TypeAlias = Literal["single", "pairs", "all-but-one"]
ORDERS: Final = ("importance", "change", "greedy")


@dataclass(frozen=True)
class Groups:
    """The heads of every role and cluster, as a run has them."""

    roles: Mapping[str, frozenset[HeadId]] = field(default_factory=dict)
    clusters: Mapping[str, frozenset[HeadId]] = field(default_factory=dict)


def parse_by(by: str) -> tuple[str, str]:
    """The kind of a selection and what follows the colon.

    >>> parse_by("role:local"), parse_by("head")
    (('role', 'local'), ('head', ''))
    """
    kind, _, rest = by.partition(":")
    known = f"expected one of {', '.join(BY)}"
    if kind not in BY:
        raise UsageError(f"--by {by}: {known}")
    if kind in ("head", "layer") and rest:
        raise UsageError(f"--by {by}: {kind} takes no name; for certain heads use set:{rest}")
    if kind in ("set", "pairs") and not rest:
        raise UsageError(f"--by {by}: expected heads, such as {kind}:3-1,4-2")
    if kind == "accumulate" and rest not in ORDERS:
        raise UsageError(f"--by {by}: expected accumulate:{' or accumulate:'.join(ORDERS)}")
    return kind, rest


def choose(
    by: str,
    layout: Layout,
    groups: Groups | None = None,
    combine: Sequence[Combine] = ("single",),
) -> list[Ablation]:
    """The ablations a selection stands for; a head that does not exist is a `UsageError`.

    `combine` is for layers, roles and clusters: each alone, two by two, or all of them but one
    (Guan et al. 2020, Tables 2 and 3). An accumulation begins with every head alone.

    >>> from headscope.models import StackLayout
    >>> layout = Layout((StackLayout("self", (2, 2), causal=False),))
    >>> [str(a) for a in choose("head", layout)]
    ['1-1', '1-2', '2-1', '2-2']
    >>> [str(a) for a in choose("layer", layout, combine=["all-but-one"])]
    ['all but layer 1', 'all but layer 2']
    """
    kind, rest = parse_by(by)
    groups = groups or Groups()
    if kind in ("head", "accumulate"):
        return [Ablation("head", frozenset({head})) for head in layout.heads()]
    if kind == "set":
        return [Ablation("set", _heads(rest, layout), group=rest.strip())]
    if kind == "pairs":
        return _pairs(sorted(_heads(rest, layout)))
    if kind == "layer":
        named = {
            f"{'' if s.stack == 'self' else s.stack + ' '}layer {layer + 1}": frozenset(
                head for head in layout.heads(s.stack) if head.layer == layer
            )
            for s in layout.stacks
            for layer in range(s.n_layers)
        }
        return _combined("layer", named, combine)
    known = groups.roles if kind == "role" else groups.clusters
    if not known:
        table = "roles" if kind == "role" else "clusters"
        raise UsageError(f"--by {by} needs a run with {table}: add --run RUN")
    if rest and rest not in known:
        raise UsageError(f"--by {by}: the run's {kind}s with heads are {', '.join(known)}")
    for name, heads in known.items():
        for head in heads:
            try:
                layout.check(head)
            except UsageError as error:
                raise UsageError(f"{kind} {name} of the run: {error}") from None
    return _combined(kind, {rest: known[rest]} if rest else known, combine)


def _heads(labels: str, layout: Layout) -> frozenset[HeadId]:
    return frozenset(layout.check(head) for head in head_set(labels))


def _pairs(heads: Sequence[HeadId]) -> list[Ablation]:
    if len(heads) < 2:
        raise UsageError("--by pairs: expected at least two different heads")
    singles = [Ablation("head", frozenset({head})) for head in heads]
    return singles + [
        Ablation("pair", frozenset(pair), group=f"{pair[0]} + {pair[1]}")
        for pair in combinations(heads, 2)
    ]


def _combined(
    kind: str, named: Mapping[str, frozenset[HeadId]], combine: Iterable[Combine]
) -> list[Ablation]:
    found: list[Ablation] = []
    for way in dict.fromkeys(combine):
        if way == "single":
            for name, heads in named.items():
                layers = {head.layer for head in heads}
                layer = next(iter(layers)) if kind == "layer" else None
                found.append(Ablation(kind, heads, group=name, layer=layer))
        elif way == "pairs":
            found += [
                Ablation(kind, named[a] | named[b], group=f"{a} + {b}")
                for a, b in combinations(named, 2)
            ]
        else:
            every = frozenset[HeadId]().union(*named.values())
            found += [
                Ablation(kind, every - heads, group=f"all but {name}")
                for name, heads in named.items()
                if every - heads
            ]
    if not found:
        raise UsageError(f"--by {kind}: nothing to combine; there is only one {kind}")
    return found


def accumulated(order: Sequence[HeadId]) -> list[Ablation]:
    """More and more heads, in this order.

    >>> [len(a.heads) for a in accumulated([HeadId(0, 0), HeadId(0, 1)])]
    [1, 2]
    """
    return [
        Ablation("accumulate", frozenset(order[:n]), group=f"{n} heads", step=n)
        for n in range(1, len(order) + 1)
    ]
