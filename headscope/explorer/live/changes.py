"""What an edit did: to every head's attention, to every token's vector, to the text's vector.

    change of a head = mean over queries of max(Σ_key (before − after)⁺, Σ_key (after − before)⁺)

the total variation distance of its rows: 0 for untouched attention, 1 for attention that moved
wholly, or is no longer there. Heads of the edited layer and of those before it can only change by
being edited themselves; what changes behind it changed because of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.errors import UsageError
from headscope.explorer.live.passes import Pass


def changes(before: Pass, after: Pass) -> dict[str, Any]:
    """Per stack and layer the change of every head; per token and for the text the vectors'."""
    if before.encoded.input_ids.tolist() != after.encoded.input_ids.tolist():
        raise UsageError("two passes over different texts cannot be compared")
    return {
        "heads": {
            stack: [moved(a, b).tolist() for a, b in zip(layers, after.maps[stack], strict=True)]
            for stack, layers in before.maps.items()
        },
        "tokens": cosine_distance(before.outputs, after.outputs).tolist(),
        "text": float(cosine_distance(before.outputs.mean(axis=0)[None],
                                      after.outputs.mean(axis=0)[None])[0])
        if before.outputs.size
        else None,
    }  # fmt: skip


def moved(before: NDArray[np.floating], after: NDArray[np.floating]) -> NDArray[np.float64]:
    """The share of attention that went elsewhere, per head.

    >>> a, b = np.array([[[1.0, 0.0]]]), np.array([[[0.25, 0.75]]])
    >>> moved(a, b).tolist()
    [0.75]
    """
    difference = before.astype(np.float32) - after.astype(np.float32)
    gained = np.maximum(-difference, 0.0).sum(axis=-1)
    lost = np.maximum(difference, 0.0).sum(axis=-1)
    return np.asarray(np.maximum(gained, lost).mean(axis=-1), dtype=np.float64)


def cosine_distance(
    before: NDArray[np.floating], after: NDArray[np.floating]
) -> NDArray[np.float64]:
    """1 − cosine of vectors that belong together; NaN for a vector of zeros.

    >>> cosine_distance(np.array([[1.0, 0.0]]), np.array([[0.0, 2.0]])).tolist()
    [1.0]
    """
    a, b = before.astype(np.float64), after.astype(np.float64)
    size = np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1)
    inner = (a * b).sum(axis=-1)
    share = np.divide(inner, size, out=np.full(size.shape, np.nan), where=size > 0)
    return np.asarray(np.clip(1.0 - share, 0.0, 2.0), dtype=np.float64)
