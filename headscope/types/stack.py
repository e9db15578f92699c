"""Where a head lives: which stack, which layer, which head."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from headscope.errors import UsageError

Stack: TypeAlias = Literal["self", "encoder", "decoder", "cross"]
STACKS: tuple[Stack, ...] = ("self", "encoder", "decoder", "cross")


@dataclass(frozen=True, order=True, slots=True)
class HeadId:
    """A head, counted from 0 in code and tables, shown to people from 1 as `layer-head`.

    >>> HeadId.parse("8-10")
    HeadId(layer=7, head=9, stack='self')
    >>> str(HeadId(0, 2, "cross"))
    'cross:1-3'
    """

    layer: int
    head: int
    stack: Stack = "self"

    def __str__(self) -> str:
        label = f"{self.layer + 1}-{self.head + 1}"
        return label if self.stack == "self" else f"{self.stack}:{label}"

    @classmethod
    def parse(cls, label: str) -> HeadId:
        stack, _, pair = label.rpartition(":")
        layer, dash, head = pair.partition("-")
        known = next((s for s in STACKS if s == (stack or "self")), None)
        good = dash and layer.isdecimal() and head.isdecimal() and int(layer) and int(head)
        if known is None or not good:
            raise UsageError(f"{label!r} is no head; expected layer-head from 1, such as 3-1")
        return cls(int(layer) - 1, int(head) - 1, known)
