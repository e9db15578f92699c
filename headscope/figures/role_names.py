"""Roles as people see them: order, names, colours, and their place in a cell of the skill grid."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, cast

from headscope.types import HeadId, Stack


@dataclass(frozen=True, slots=True)
class RoleLook:
    """A role's name for people and its colour; kinds of roles share a hue."""

    name: str
    label: str
    colour: str


ROLES: Final = (
    RoleLook("local", "local", "#0072B2"),
    RoleLook("prev_local", "before", "#3E9BD6"),
    RoleLook("next_local", "after", "#8CCBF0"),
    RoleLook("block", "same segment", "#009E73"),
    RoleLook("delimiter", "delimiter", "#B34700"),
    RoleLook("cls", "[CLS]", "#E0702A"),
    RoleLook("sep", "[SEP]", "#F5A872"),
    RoleLook("interrogative", "?", "#E6C700"),
    RoleLook("syntactic", "syntactic", "#8E3F73"),
    RoleLook("nsubj", "subject", "#B25C93"),
    RoleLook("obj", "object", "#CC79A7"),
    RoleLook("amod", "adjective", "#E3A9C8"),
    RoleLook("advmod", "adverb", "#F0CCDF"),
    RoleLook("bpe", "word pieces", "#6B7280"),
    RoleLook("rare", "rare words", "#A3ABB6"),
)
_KNOWN: Final = {look.name: look for look in ROLES}
#: For roles of a user's own, in their order.
_OTHERS: Final = ("#4B3F72", "#1F7A6B", "#7A5C1F", "#20425F")

#: What the paper's Venn diagram shows.
COARSE: Final = ("local", "syntactic", "block", "delimiter")


def looks(names: Iterable[str]) -> list[RoleLook]:
    """How these roles look, in the order people know them; a user's own come last.

    >>> [look.label for look in looks(["quoted", "sep", "local"])]
    ['local', '[SEP]', 'quoted']
    """
    given = set(names)
    own = sorted(given - _KNOWN.keys())
    return [look for look in ROLES if look.name in given] + [
        RoleLook(name, name.replace("_", " "), _OTHERS[i % len(_OTHERS)])
        for i, name in enumerate(own)
    ]


#: Roles that others spell out: `delimiter` says nothing new of a head that has `cls`.
_PARTS: Final = {
    "local": {"prev_local", "next_local"},
    "delimiter": {"cls", "sep"},
    "syntactic": {"nsubj", "obj", "amod", "advmod"},
}


def distinct(roles: Iterable[str]) -> set[str]:
    """The roles without those that a finer one among them spells out.

    >>> sorted(distinct(["delimiter", "cls", "local"]))
    ['cls', 'local']
    """
    given = set(roles)
    return {role for role in given if not _PARTS.get(role, set()) & given}


@dataclass(frozen=True, slots=True)
class RoleRow:
    """One row of the table `roles`."""

    head: HeadId
    role: str
    mean: float
    low: float
    high: float
    p_value: float
    q_value: float
    assigned: bool


@dataclass(frozen=True, slots=True)
class RoleTable:
    """The table `roles`: its rows, and how they were tested."""

    rows: tuple[RoleRow, ...]
    tau: float
    alpha: float
    test: str
    correction: str

    @property
    def heads(self) -> list[HeadId]:
        return sorted({row.head for row in self.rows})

    def skills(self) -> dict[HeadId, list[str]]:
        """The roles of every head, also of those without any."""
        found: dict[HeadId, list[str]] = {head: [] for head in self.heads}
        for row in self.rows:
            if row.assigned:
                found[row.head].append(row.role)
        return found

    def sets(self) -> dict[str, set[HeadId]]:
        """The heads of every role that was tested."""
        found: dict[str, set[HeadId]] = {}
        for row in self.rows:
            found.setdefault(row.role, set())
            if row.assigned:
                found[row.role].add(row.head)
        return found

    @property
    def rule(self) -> str:
        """How a head gets a role, in words."""
        tests = {"z": "a z test", "t": "a t test", "anytime": "an anytime-valid test"}
        corrections = {
            "bh": "corrected by Benjamini–Hochberg",
            "holm": "corrected by Holm",
            "none": "not corrected for many tests",
            "bonferroni": "shared out over all tests",
        }
        return (
            f"A head has a role if {tests.get(self.test, self.test)} finds its mean score above "
            f"τ = {self.tau:g}, with error {self.alpha:g}, "
            f"{corrections.get(self.correction, self.correction)}: on average it gives the role's "
            f"tokens more than {self.tau:g} times the attention that a token gets."
        )


def read_roles(table: Any) -> RoleTable:
    """The table `roles` of a run."""
    names = ("layer", "head", "stack", "role", "mean", "ci_low", "ci_high", "p_value", "q_value",
             "assigned")  # fmt: skip
    columns = [table.column(name).to_pylist() for name in names]
    rows = tuple(
        RoleRow(HeadId(layer, head, cast("Stack", stack)), *rest)
        for layer, head, stack, *rest in zip(*columns, strict=True)
    )

    def first(name: str, default: Any) -> Any:
        known = name in table.column_names and table.num_rows
        return table.column(name)[0].as_py() if known else default

    return RoleTable(
        rows, first("tau", 3.0), first("alpha", 0.05), first("test", "z"), first("correction", "bh")
    )
