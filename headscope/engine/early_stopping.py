"""Stopping a pass as soon as the roles of heads are decided."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from headscope.engine.shard import Values
from headscope.engine.until_decided import UntilDecided
from headscope.errors import UsageError
from headscope.measures import Measure, Place
from headscope.measures.roles import ROLES
from headscope.measures.sieve_bias import SieveBias
from headscope.models import Layout
from headscope.stats import decide, log_e_value
from headscope.values import Bundle, Moments, Sum

#: Between two looks at the scores there are at most so many sequences.
LOOK_EVERY = 64


def with_evidence(measures: Sequence[Measure], rule: UntilDecided) -> list[Measure]:
    """The same measures, with the one for roles gathering evidence against the rule's τ."""
    if not any(isinstance(m, SieveBias) for m in measures):
        raise UsageError("--until-decided: the measure 'sieve' is not among those asked for")
    return [
        m.model_copy(update={"decide_at": rule.tau}) if isinstance(m, SieveBias) else m
        for m in measures
    ]


class Watch:
    """Adds up what a pass finds and knows when it may stop. The same shards, the same answer."""

    def __init__(
        self,
        rule: UntilDecided,
        measures: Sequence[Measure],
        layout: Layout,
        annotations: Mapping[str, int],
    ) -> None:
        self.rule = rule
        measure = next(m for m in measures if isinstance(m, SieveBias))
        possible = [r for r in measure.roles if all(annotations.get(n) for n in ROLES[r].needs)]
        self.n_tests = max(1, len(layout.heads()) * len(possible))
        self._sums: dict[Place, tuple[Moments, Sum]] = {}
        self.n_decided = self.n_pairs = 0

    def add(self, values: Values) -> bool:
        """Take in a shard; True if the pass may stop after it."""
        for (name, place), value in values.items():
            if name != SieveBias.name or not isinstance(value, Bundle):
                continue
            moments, bets = value.part("moments", Moments), value.part("bets", Sum)
            if place in self._sums:
                before = self._sums[place]
                moments, bets = before[0] + moments, before[1] + bets
            self._sums[place] = (moments, bets)
        self.n_decided = self.n_pairs = 0
        for moments, bets in self._sums.values():
            decided = decide(
                log_e_value(bets.total),
                moments.mean,
                moments.std,
                moments.n,
                tau=self.rule.tau,
                alpha=self.rule.alpha,
                n_tests=self.n_tests,
            )
            seen = moments.n > 0
            self.n_pairs += int(seen.sum())
            self.n_decided += int(np.sum((decided != 0) & seen))
        return self.n_pairs > 0 and self.n_decided >= self.rule.share * self.n_pairs

    def told(self, n_sequences: int, n_planned: int) -> dict[str, Any]:
        """Where the pass stopped, and the boundary: what run.json keeps."""
        return {
            **self.rule.model_dump(),
            "n_tests": self.n_tests,
            "log_e_boundary": math.log(self.n_tests / self.rule.alpha),
            "n_sequences": n_sequences,
            "n_planned": n_planned,
            "n_pairs": self.n_pairs,
            "n_decided": self.n_decided,
        }
