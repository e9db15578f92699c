"""The Jensen–Shannon divergence between all pairs of heads, compiled.

With m = (p + q)/2, d = p − q and t = 2 · min(p, q)/(p + q), the two Kullback–Leibler terms of one
key fold into a single product without any cancellation:

    ½ · p · ln(p/m) + ½ · q · ln(q/m)  =  ¼ · d²/(p + q) · R(t)
    R(t) = ((2 − t) · ln(2 − t) + t · ln t) / (1 − t)²,      1 = R(1) ≤ R(t) ≤ R(0) = 2 ln 2

The usual H(m) − (H(p) + H(q))/2 subtracts nearly equal entropies; here every term is positive, so
even two heads that are almost the same keep all their digits. R is smooth in v = t^¼ (its t · ln t
becomes 4 v⁴ ln v), and a polynomial of degree 10 in v gives it to 2.6e-6 relative: two square roots
and ten products instead of a logarithm, in float32, eight keys at a time.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from headscope.models.compiled import compiled, in_parts

#: R(v⁴) = Σ c[i] · vⁱ on [0, 1]: minimax of the relative error, by Lawson's iteration.
COEFFICIENTS: Final = (
    1.38629786, -0.000902230293, 0.0402245481, -0.855030403, -3.44009889, 6.99510776,
    5.26189658, -26.9463596, 33.0306866, -18.7955228, 4.323698,
)  # fmt: skip

#: Keys a head contributes at a time: all heads' pieces stay in a core's second-level cache, and a
#: float32 sum over one piece loses no digit that matters.
PIECE: Final = 512

_C0, _C1, _C2, _C3, _C4, _C5, _C6, _C7, _C8, _C9, _C10 = (np.float32(c) for c in COEFFICIENTS)
_ONE, _TWO, _TINY = np.float32(1), np.float32(2), np.float32(1e-30)


def pairwise_js(rows: NDArray[np.float32], n_threads: int = 1) -> NDArray[np.float64]:
    """Σ over rows and keys of the Jensen–Shannon terms, in nats, for every pair of heads.

    `rows[sequence, head, …]` are a sequence's attention rows, every head's in the same order; what
    is padded must be 0 in all heads. The result is [sequence, pair], pairs in the order of
    `numpy.triu_indices(n_heads, 1)`: the same bits whatever the number of threads.

    >>> same, other = [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]
    >>> pairwise_js(np.array([[same, same, other]], np.float32)).round(5).tolist()
    [[0.0, 0.69315, 0.69315]]
    """
    n_sequences, n_heads = rows.shape[:2]
    flat = np.ascontiguousarray(rows.reshape(n_sequences, n_heads, -1), np.float32)
    out = np.zeros((n_sequences, n_heads * (n_heads - 1) // 2))
    # A task is a head and its mirror image, so that all have the same number of partners.
    n_tasks = n_sequences * ((n_heads + 1) // 2)
    in_parts(lambda first, last: _kernel(flat, out, first, last), n_tasks, n_threads)
    return out


@compiled
def _term(p: Any, q: Any) -> Any:
    """d²/(p + q) · R(t) of one key; 0 where both weights are."""
    inverse = _ONE / max(p + q, _TINY)
    d = p - q
    t = _TWO * min(p, q) * inverse
    u = np.sqrt(t)
    v = np.sqrt(u)
    # Estrin's scheme: short chains of products keep both multipliers of a core busy
    low = (_C0 + _C1 * v) + (_C2 + _C3 * v) * u
    high = ((_C4 + _C5 * v) + (_C6 + _C7 * v) * u) + t * ((_C8 + _C9 * v) + _C10 * u)
    return d * d * inverse * (low + t * high)


@compiled
def _kernel(rows: Any, out: Any, first: int, last: int) -> None:
    n_heads, n_keys = rows.shape[1], rows.shape[2]
    half = (n_heads + 1) // 2
    for task in range(first, last):
        sequence, turn = task // half, task % half
        for side in range(2):
            i = turn if side == 0 else n_heads - 1 - turn
            if side == 1 and i == turn:
                continue
            base = i * (2 * n_heads - i - 1) // 2 - i - 1
            for start in range(0, n_keys, PIECE):
                stop = min(start + PIECE, n_keys)
                mine = rows[sequence, i, start:stop]
                for j in range(i + 1, n_heads):
                    theirs = rows[sequence, j, start:stop]
                    total = np.float32(0)
                    for k in range(stop - start):
                        total += _term(mine[k], theirs[k])
                    out[sequence, base + j] += 0.25 * total
