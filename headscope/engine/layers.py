"""Which layers a pass looks at."""

from __future__ import annotations

import re
from collections.abc import Sequence

from headscope.errors import UsageError
from headscope.models import Layout, LoadedModel

_RANGE = re.compile(r"(\d+)(?:-(\d+))?")


def parse_layers(text: str) -> tuple[int, ...]:
    """Layers as people write them, counted from 1, sorted, each once.

    >>> parse_layers("1-4,6"), parse_layers("3")
    ((1, 2, 3, 4, 6), (3,))
    """
    found: set[int] = set()
    for part in text.split(","):
        match = _RANGE.fullmatch(part.strip())
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
        if not 1 <= first <= last < 100_000:
            raise UsageError(f"--layers {text}: expected layers from 1, such as 3 or 1-4,6")
        found.update(range(first, last + 1))
    return tuple(sorted(found))


def chosen_layers(model: LoadedModel, layers: Sequence[int] | None) -> Layout:
    """The model's layout with only these layers (counted from 1) in it, in every stack.

    A stack that has none of them is left out; a layer that no stack has is refused.
    """
    if layers is None:
        return model.layout
    most = max(stack.n_layers for stack in model.layout.stacks)
    wrong = [layer for layer in layers if not 1 <= layer <= most]
    if wrong or not layers:
        asked = ",".join(map(str, layers)) or "none"
        raise UsageError(f"--layers {asked}: {model.name} has the layers 1 to {most}")
    return model.layout.only(frozenset(layer - 1 for layer in layers))
