"""The seam: claims of papers, each a function from runs to a finding."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from headscope.registry import Registry
from headscope.store import Run

Verdict: TypeAlias = Literal["holds", "does not hold", "cannot tell"]


@dataclass(frozen=True)
class Finding:
    """What a claim comes to for a model: our figure, how sure it is, and what follows.

    `low` and `high` are a 95 % interval of `value`, NaN where there is none; `n` says how many
    observations are behind it, and `of` what they are.
    """

    verdict: Verdict
    here: str
    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    n: int = 0
    of: str = ""


@dataclass(frozen=True)
class Labelled:
    """A finished run with the label of its step, a task's name for one."""

    label: str
    run: Run


Judge: TypeAlias = Callable[..., Finding]


@dataclass(frozen=True)
class Claim:
    """A claim by name: what the paper says, its figure, our rule, and the function that judges."""

    name: str
    paper: str
    says: str
    found: str
    rule: str
    judge: Judge

    def __post_init__(self) -> None:
        for name in ("__module__", "__qualname__", "__doc__"):
            object.__setattr__(self, name, getattr(self.judge, name))

    @property
    def options(self) -> list[str]:
        return list(inspect.signature(self.judge).parameters)[1:]

    def ask(self, runs: Sequence[Labelled], **options: Any) -> Finding:
        """The finding; where tables or rows are missing the claim cannot be decided."""
        if not runs:
            return Finding("cannot tell", "no run of it here")
        try:
            return self.judge(list(runs), **options)
        except NoDataError as error:
            return Finding("cannot tell", str(error))


CLAIMS: Registry[Claim] = Registry("claim", "headscope.studies.claims")


def claim(name: str, *, paper: str, says: str, found: str, rule: str) -> Callable[[Judge], Judge]:
    """Decorator: make a function that judges runs known as a claim of a paper.

    `says` is the claim in one sentence, `found` the paper's own figure, `rule` what must be the
    case here for the claim to hold.
    """

    def add(function: Judge) -> Judge:
        CLAIMS.register(name)(Claim(name, paper, says, found, rule, function))
        return function

    return add


class NoDataError(Exception):
    """A claim about something the runs do not have; the message says what."""
