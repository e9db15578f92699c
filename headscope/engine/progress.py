"""How an engine tells people where it is, without knowing who looks."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """A listener to a pass."""

    def stage(self, title: str, total: int | None = None) -> None:
        """A new stage of work begins, of `total` units if that is known."""

    def advance(self, n: int, n_sequences: int = 0) -> None:
        """`n` units of the stage are done, and with them `n_sequences` sequences."""


class Silent:
    """Nobody looks."""

    def stage(self, title: str, total: int | None = None) -> None:
        """Say nothing."""

    def advance(self, n: int, n_sequences: int = 0) -> None:
        """Say nothing."""
