"""How a command ended, and what it said."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias


class Said(NamedTuple):
    code: int
    out: str
    err: str


#: The fixture `headscope`: the words of a command in, how it ended out.
Headscope: TypeAlias = Callable[..., Said]
