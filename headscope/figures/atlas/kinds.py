"""What kinds of heads a model has, from the best evidence a run holds.

Tested roles come first; without them clusters of heads; without those where a head puts more than
half of its attention. A head may be of several kinds, or of none.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final

from headscope.figures.cluster_labels import in_words, read_clusters
from headscope.figures.head_values import read_heads
from headscope.figures.registered import RunLike
from headscope.figures.role_names import looks, read_roles
from headscope.figures.surface_targets import POINTED, target
from headscope.types import HeadId, Stack


@dataclass(frozen=True, slots=True)
class Family:
    """Roles that are of one kind; they share a mark and a colour. `noun` completes "… heads"."""

    name: str
    label: str
    noun: str
    roles: tuple[str, ...]


FAMILIES: Final = (
    Family("local", "local", "local", ("local", "prev_local", "next_local")),
    Family("syntactic", "syntactic", "syntactic", ("syntactic", "nsubj", "obj", "amod", "advmod")),
    Family("delimiter", "delimiter", "delimiter", ("delimiter", "cls", "sep")),
    Family("block", "same segment", "same-segment", ("block",)),
    Family("interrogative", "question mark", "question-mark", ("interrogative",)),
    Family("bpe", "word pieces", "word-piece", ("bpe",)),
    Family("rare", "rare words", "rare-word", ("rare",)),
)
OWN: Final = Family("own", "other", "other", ())


def family_of(role: str) -> Family:
    """The family of a role; a user's own roles share one.

    >>> family_of("nsubj").name, family_of("quoted").name
    ('syntactic', 'own')
    """
    return next((f for f in FAMILIES if role in f.roles), OWN)


@dataclass(frozen=True, slots=True)
class Kind:
    """Heads of one kind; `look` names its colour and mark in the page."""

    name: str
    label: str
    noun: str
    look: str
    heads: frozenset[HeadId]

    def per_layer(self, stack: Stack, n_layers: int) -> list[int]:
        """How many of them every layer of a stack has."""
        count = Counter(head.layer for head in self.heads if head.stack == stack)
        return [count[layer] for layer in range(n_layers)]


@dataclass(frozen=True, slots=True)
class Kinds:
    """All kinds that occur, the heads of none, and how a head comes to be of a kind."""

    source: str
    kinds: tuple[Kind, ...]
    none: Kind
    rule: str
    heads: tuple[HeadId, ...]


#: The mark of what a head points to, and what such heads are called.
_LOOKS: Final = {
    "prev": ("prev_local", "previous-token"),
    "self": ("self", "self"),
    "next": ("next_local", "next-token"),
    "first": ("first", "first-token"),
    "cls": ("cls", "[CLS]"),
    "sep": ("sep", "[SEP]"),
    "punct": ("punct", "punctuation"),
}


def kinds_of(run: RunLike) -> Kinds | None:
    """The kinds of a run's heads, from roles, clusters or surface; None where it has none."""
    for table, read in (("roles", _roles), ("clusters", _clusters), ("surface", _surface)):
        if table in run.tables and run.table(table).num_rows:
            return read(run)
    return None


def _roles(run: RunLike) -> Kinds:
    table = read_roles(run.table("roles"))
    skills = table.skills()
    kinds = []
    for family in (*FAMILIES, OWN):
        heads = {h for h, own in skills.items() if any(family_of(r) is family for r in own)}
        if heads:
            kinds.append(
                Kind(family.name, family.label, family.noun, family.name, frozenset(heads))
            )
    none = frozenset(head for head, own in skills.items() if not own)
    return Kinds(
        "roles",
        tuple(kinds),
        Kind("none", "no role found", "unskilled", "none", none),
        f"{table.rule} A head can have several roles and then counts in each row.",
        tuple(table.heads),
    )


def _clusters(run: RunLike) -> Kinds:
    heads = read_clusters(run.table("clusters"))
    kinds = []
    for cluster in sorted({h.cluster for h in heads}):
        own = [h for h in heads if h.cluster == cluster]
        label = f"{cluster + 1} · {in_words(own[0].name)}"
        noun = f"cluster {cluster + 1}" if own[0].name is None else in_words(own[0].name)
        mine = frozenset(h.head for h in own)
        kinds.append(Kind(str(cluster), label, noun, f"cluster{cluster % 7}", mine))
    return Kinds(
        "clusters",
        tuple(kinds),
        Kind("none", "no cluster", "unclustered", "none", frozenset()),
        "Heads were grouped by how far they look and how much goes to special tokens.",
        tuple(sorted(h.head for h in heads)),
    )


def _surface(run: RunLike) -> Kinds:
    values = read_heads(run.table("surface"), what="target", value="mean")
    every = {v.head for v in values}
    kinds = []
    for name in POINTED:
        heads = frozenset(v.head for v in values if v.what == name and v.value > 0.5)
        if heads:
            look, noun = _LOOKS[name]
            kinds.append(Kind(name, target(name).label, noun, look, heads))
    pointed = {head for kind in kinds for head in kind.heads}
    return Kinds(
        "surface",
        tuple(kinds),
        Kind("none", "no single target", "undecided", "none", frozenset(every - pointed)),
        "A head is of a kind if it puts more than half of its attention there, whatever the words "
        "are.",
        tuple(sorted(every)),
    )


def role_labels(run: RunLike) -> list[tuple[str, str, str]]:
    """Name, label and family of every role that was tested."""
    if "roles" not in run.tables:
        return []
    names = set(run.table("roles").column("role").to_pylist())
    return [(look.name, look.label, family_of(look.name).name) for look in looks(names)]
