"""Which attention a model has: stacks, layers, heads."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from headscope.errors import UsageError
from headscope.types import HeadId, Stack


@dataclass(frozen=True, slots=True)
class StackLayout:
    """One stack: heads per layer (almost always the same number), and whether it is causal.

    A layer that nobody looks at has 0 heads here.
    """

    stack: Stack
    n_heads: tuple[int, ...]
    causal: bool

    @property
    def n_layers(self) -> int:
        return len(self.n_heads)

    @property
    def seen(self) -> tuple[int, ...]:
        """The layers that are looked at."""
        return tuple(layer for layer, n_heads in enumerate(self.n_heads) if n_heads)


@dataclass(frozen=True, slots=True)
class Layout:
    """All stacks of a model in the order in which a forward pass first enters them."""

    stacks: tuple[StackLayout, ...]

    def __getitem__(self, stack: Stack) -> StackLayout:
        for layout in self.stacks:
            if layout.stack == stack:
                return layout
        known = ", ".join(s.stack for s in self.stacks)
        raise UsageError(f"this model has no stack {stack!r}; it has: {known}")

    def check(self, head: HeadId) -> HeadId:
        """The same head, or a clear error when the model does not have it."""
        layout = self[head.stack]
        if not 0 <= head.layer < layout.n_layers:
            raise UsageError(f"no head {head}: the model has {layout.n_layers} layers")
        if not 0 <= head.head < layout.n_heads[head.layer]:
            n_heads = layout.n_heads[head.layer]
            raise UsageError(f"no head {head}: layer {head.layer + 1} has {n_heads} heads")
        return head

    def heads(self, stack: Stack | None = None) -> tuple[HeadId, ...]:
        """Every head, stack by stack."""
        return tuple(
            HeadId(layer, head, s.stack)
            for s in self.stacks
            if stack in (None, s.stack)
            for layer, n_heads in enumerate(s.n_heads)
            for head in range(n_heads)
        )

    def only(self, layers: Collection[int]) -> Layout:
        """The same model with no heads but those of these layers (counted from 0).

        >>> Layout((StackLayout("self", (8, 8, 8), False),)).only({1}).heads()[0]
        HeadId(layer=1, head=0, stack='self')
        """
        kept = (
            StackLayout(
                s.stack, tuple(n if i in layers else 0 for i, n in enumerate(s.n_heads)), s.causal
            )
            for s in self.stacks
        )
        return Layout(tuple(stack for stack in kept if stack.seen))

    @property
    def n_layers(self) -> int:
        return sum(s.n_layers for s in self.stacks)

    def __str__(self) -> str:
        parts = []
        for s in self.stacks:
            heads = sorted(set(s.n_heads))
            shape = f"{s.n_layers}×{'/'.join(map(str, heads))}"
            parts.append(shape if s.stack == "self" else f"{s.stack} {shape}")
        return ", ".join(parts)
