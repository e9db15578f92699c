"""Clients that are slow, or gone, are let go, so that they take nothing from the others."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from headscope.explorer.limits import Limits


class PatientProtocol(H11Protocol):
    """uvicorn's HTTP with clocks: for a request's head, for its body, and for reading the answer.

    uvicorn itself waits for ever on all three. When all places are taken, a new client gets that of
    the one who has kept everybody waiting longest for a head.
    """

    limits: ClassVar[Limits] = Limits()
    TICK: ClassVar[float] = 0.25

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._waiting_for: str | None = None
        self._since = 0.0
        self._unsent = 0
        self._clock: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        others = [c for c in self.connections if isinstance(c, PatientProtocol)]
        if len(others) >= self.limits.connections:
            idle = [c for c in others if c._what() == "head"]
            victim = min(idle, key=lambda c: c._since, default=None)
            if victim is None:
                transport.abort()
                return
            victim.transport.abort()
            self.connections.discard(victim)
        super().connection_made(transport)
        self._since = self.loop.time()
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._clock is not None:
            self._clock.cancel()
        if self.transport is not None:
            super().connection_lost(exc)

    def on_response_complete(self) -> None:
        self._waiting_for = None  # the wait for the next head begins now
        super().on_response_complete()

    def _what(self) -> str | None:
        """What the connection waits for now."""
        if self.transport.get_write_buffer_size():
            return "reading"
        if self.conn.their_state is h11.SEND_BODY:
            return "body"
        return "head" if self.conn.their_state is h11.IDLE else None

    def _look(self) -> None:
        now, what = self.loop.time(), self._what()
        unsent = self.transport.get_write_buffer_size()
        if what != self._waiting_for or (what == "reading" and unsent < self._unsent):
            self._waiting_for, self._since = what, now
        self._unsent = unsent
        allowed = {
            "head": self.limits.head_seconds,
            "body": self.limits.body_seconds,
            "reading": self.limits.write_seconds,
        }.get(what or "")
        if allowed is not None and now - self._since > allowed:
            self.transport.abort()
            return
        self._clock = self.loop.call_later(self.TICK, self._look)


def protocol_with(limits: Limits) -> type[PatientProtocol]:
    """The protocol with these limits."""
    return type("LimitedProtocol", (PatientProtocol,), {"limits": limits})
