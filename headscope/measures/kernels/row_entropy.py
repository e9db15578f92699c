"""−Σ a · ln a of attention rows in one pass over memory, on the processor.

ln is Cephes' (a polynomial of degree 8 around 1 after the exponent is taken off), to one unit in
the last place of float32; torch's `entr` writes a map as large as the pattern first.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from headscope.models.compiled import compiled, in_parts

_P: Final = tuple(
    np.float32(c)
    for c in (
        7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
        -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
    )
)  # fmt: skip
_HALF_ROOT = np.float32(0.70710678)
_LN2_HIGH, _LN2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)
_ONE, _HALF, _TINY = np.float32(1), np.float32(0.5), np.float32(1e-37)


def row_entropies(pattern: NDArray[np.float32], n_threads: int) -> NDArray[np.float32]:
    """The entropy of every row of [batch, head, query, key], in nats.

    >>> rows = np.array([[[[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]]]], np.float32)
    >>> row_entropies(rows, 1)
    array([[[0.6931472, 0.       ]]], dtype=float32)
    """
    flat = np.ascontiguousarray(pattern, np.float32).reshape(-1, pattern.shape[-1])
    out = np.empty(len(flat), np.float32)
    in_parts(lambda first, last: _entropies(flat, out, first, last), len(flat), n_threads)
    return out.reshape(pattern.shape[:-1])


@compiled
def _ln(x: Any) -> Any:
    """The natural logarithm of a positive float32."""
    p0, p1, p2, p3, p4, p5, p6, p7, p8 = _P
    bits = np.float32(x).view(np.int32)
    e = np.float32(np.int32(np.int32(bits >> np.int32(23)) - np.int32(126)))
    m = np.int32((bits & np.int32(0x7FFFFF)) | np.int32(0x3F000000)).view(np.float32)
    low = m < _HALF_ROOT
    e = e - (_ONE if low else np.float32(0))
    m = (m + m if low else m) - _ONE
    z = m * m
    y = p0 * m + p1
    y = y * m + p2
    y = y * m + p3
    y = y * m + p4
    y = y * m + p5
    y = y * m + p6
    y = y * m + p7
    y = y * m + p8
    y = y * m * z + e * _LN2_LOW - _HALF * z
    return m + y + e * _LN2_HIGH


@compiled
def _entropies(rows: Any, out: Any, first: int, last: int) -> None:
    for i in range(first, last):
        row = rows[i]
        total = np.float32(0)
        for k in range(len(row)):
            total += row[k] * _ln(max(row[k], _TINY))
        out[i] = abs(total)  # a sum of nothing is 0, not -0
