"""The rule by which a pass may stop early."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class UntilDecided(BaseModel):
    """When a pass may stop: once `share` of all heads × roles are decided.

    Sequences come in a random order drawn by `seed`, and the scores are looked at after every
    shard. A pair is decided when the betting test finds its mean score above `tau` or the
    asymptotic bound finds it below (`headscope.stats.early_decision`), each with error `alpha`
    shared out over all pairs; so stopping early costs no error rate. Roles that no sequence had so
    far are not waited for.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    tau: float = Field(3.0, gt=0.0)
    alpha: float = Field(0.05, gt=0.0, lt=1.0)
    share: float = Field(1.0, gt=0.0, le=1.0)
    seed: int = 0
