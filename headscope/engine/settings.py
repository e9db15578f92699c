"""How a pass is run: what changes its cost, and at most the last digits of its numbers."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from headscope.engine.until_decided import UntilDecided


class Settings(BaseModel):
    """Sizes of the units of work.

    A shard is what a crash can cost and what a worker gets at a time; a batch is what memory must
    hold. Same settings, same bits; other settings, the same numbers within 1e-6.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    shard_size: int = Field(256, ge=1, description="sequences in a shard")
    batch_tokens: int = Field(4096, ge=1, description="tokens in a batch, padding included")
    until_decided: UntilDecided | None = Field(None, description="when a pass may stop early")
    layers: tuple[int, ...] | None = Field(None, description="only these layers, counted from 1")

    def told(self) -> dict[str, Any]:
        """What run.json says: `layers` only where they were chosen, as in runs before there were.

        >>> Settings().told()
        {'shard_size': 256, 'batch_tokens': 4096, 'until_decided': None}
        """
        told = self.model_dump(mode="json")
        return told if self.layers is not None else {k: told[k] for k in told if k != "layers"}
