"""Surface attention and entropy as plain loops over one sequence's maps, from the formulas."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from headscope.types import Encoded, TokenKind

_KEYS = {
    "cls": {TokenKind.CLS},
    "sep": {TokenKind.SEP},
    "punct": {TokenKind.PERIOD, TokenKind.COMMA},
    "other": {TokenKind.OTHER},
}


def naive_surface(encoded: Encoded, pattern: NDArray[np.float64], causal: bool) -> dict[str, float]:
    """The surface targets of one head over one sequence; NaN where there is no target."""
    n, kinds = encoded.n_tokens, encoded.kinds
    found = {"self": 0.0, "prev": 0.0, "next": 0.0}
    for q in range(n):
        found["self"] += pattern[q, q] / n
        found["prev"] += pattern[q, q - 1] / n if q > 0 else 0.0
        found["next"] += pattern[q, q + 1] / n if q < n - 1 else 0.0
    found["first"] = sum(pattern[q, 0] for q in range(n)) / n if causal else math.nan
    for name, wanted in _KEYS.items():
        keys = [k for k in range(n) if kinds[k] in wanted]
        total = sum(pattern[q, k] for q in range(n) for k in keys)
        found[name] = total / n if keys else math.nan
    seps = [k for k in range(n) if kinds[k] == TokenKind.SEP]
    rest = [q for q in range(n) if q not in seps]
    for name, rows in (("sep_from_sep", seps), ("sep_from_other", rest)):
        total = sum(pattern[q, k] for q in rows for k in seps)
        found[name] = total / len(rows) if rows and seps else math.nan
    return found


def naive_entropy(
    encoded: Encoded, pattern: NDArray[np.float64], smoothing: float = 0.0
) -> dict[str, float]:
    """Mean row entropy of one head over one sequence, and that of its cls row."""
    n = encoded.n_tokens
    rows = []
    for q in range(n):
        weights = [(1 - smoothing) * pattern[q, k] + smoothing / n for k in range(n)]
        rows.append(-sum(w * math.log(w) for w in weights if w > 0))
    cls = [rows[q] for q in range(n) if encoded.kinds[q] == TokenKind.CLS]
    return {"all": sum(rows) / n, "cls": sum(cls) / len(cls) if cls else math.nan}
