"""The Jensen–Shannon kernel beside numpy, beside the machine's logarithms, and in the pass."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numba
import numpy as np
import torch
from numpy.typing import NDArray

from bench.ratio import Line, compared, seconds
from bench.subject import bert_base, sequences
from headscope.engine import Settings
from headscope.engine.batches import length_sorted
from headscope.engine.shard import run_shard
from headscope.measures import build
from headscope.measures.kernels.jensen_shannon import pairwise_js
from headscope.models import collate

N_HEADS, N_TOKENS = 144, 128
SETTINGS = Settings()


def maps(n_heads: int, n_tokens: int) -> NDArray[np.float32]:
    """Softmax rows, from broad heads to sharp ones."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=(n_heads, n_tokens, n_tokens)) * rng.uniform(0.2, 4, (n_heads, 1, 1))
    e = np.exp(z - z.max(axis=-1, keepdims=True))
    return (e / e.sum(axis=-1, keepdims=True)).astype(np.float32)


def by_numpy(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """One head against all later ones, H(m) − (H(p) + H(q))/2, vectorised in float32."""
    entropy = -(rows * np.log(rows)).sum(axis=1)
    found = []
    for i in range(len(rows) - 1):
        m = (rows[i] + rows[i + 1 :]) * np.float32(0.5)
        found.append(-(m * np.log(m)).sum(axis=1) - (entropy[i] + entropy[i + 1 :]) / 2)
    return np.concatenate(found)


#: ln on [1, 2) to 1.5e-6: the cheapest logarithm that is still good enough here.
_LN = tuple(
    np.float32(c)
    for c in (-2.10342641, 4.22119408, -3.67486472, 2.25235859, -0.86502169, 0.1871757, -0.01741408)
)
_LN2 = np.float32(math.log(2))


@numba.njit(fastmath=True, nogil=True)
def _logarithms(x: Any, n_times: int) -> Any:
    """Σ x · ln x, over and over: nothing but logarithms, out of the first-level cache."""
    a0, a1, a2, a3, a4, a5, a6 = _LN
    whole = 0.0
    for _ in range(n_times):
        total = np.float32(0)
        for k in range(len(x)):
            bits = np.float32(x[k]).view(np.int32)
            e = np.float32(np.int32(np.int32(bits >> np.int32(23)) - np.int32(127)))
            f = np.int32((bits & np.int32(0x7FFFFF)) | np.int32(0x3F800000)).view(np.float32)
            low, square = a0 + a1 * f, f * f
            high = (a2 + a3 * f) + square * ((a4 + a5 * f) + square * a6)
            total += x[k] * (e * _LN2 + (low + square * high))
        x[0] = np.float32(0.5) + np.float32(1e-9) * total  # so that no turn can be left out
        whole += total
    return whole


def logarithms_per_second(n_threads: int) -> float:
    """The most logarithms this machine does per second in float32, on so many threads."""
    rows = [np.linspace(1e-4, 1, 2048).astype(np.float32) for _ in range(n_threads)]
    _logarithms(rows[0], 1)
    n_times = 20_000
    with ThreadPoolExecutor(n_threads) as pool:
        rounds = [
            seconds(lambda: list(pool.map(lambda r: _logarithms(r, n_times), rows)))
            for _ in range(3)
        ]
    return n_threads * n_times * 2048 / min(rounds)


def cpu_seconds(work: Callable[[], object]) -> float:
    """Processor time of the best of five: what a busy machine cannot distort."""
    taken = []
    for _ in range(5):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return min(taken)


def lines() -> Iterator[Line]:
    threads = torch.get_num_threads()
    rows = maps(N_HEADS, N_TOKENS)
    flat = rows.reshape(N_HEADS, -1)
    n_terms = N_HEADS * (N_HEADS - 1) // 2 * flat.shape[1]

    def ours() -> None:
        pairwise_js(rows[None], threads)

    name = f"divergence kernel, {N_HEADS} heads × {N_TOKENS} tokens / numpy over the triangle"
    line = compared(name, ours, lambda: by_numpy(flat), 1 / 6, rounds=7)
    speed = n_terms / min(seconds(ours) for _ in range(5))
    limit = logarithms_per_second(threads)
    per_core = cpu_seconds(lambda: by_numpy(flat)) / cpu_seconds(ours)
    detail = (
        f" ({1 / line.ratio:.1f}× faster, {per_core:.1f}× per core; {speed / 1e9:.2f} G terms/s, "
        f"{speed / limit:.0%} of this machine's {limit / 1e9:.2f} G logarithms/s)"
    )
    yield replace(line, detail=detail)

    model, encoded = bert_base(), sequences(32, 128)
    measure = build("divergence")

    def bare() -> None:
        with torch.inference_mode():
            for batch in length_sorted(encoded, SETTINGS.batch_tokens):
                model.model(**collate(batch).inputs)

    def with_divergence() -> None:
        run_shard(model, [measure], encoded, SETTINGS)

    yield compared(
        "analyze (divergence, sampled rows) / bare eager forward, 128 tokens",
        with_divergence,
        bare,
        1.10,
        rounds=3,
    )
