"""Peak memory of `headscope analyze` does not grow with the corpus.

BERT-base's width with two of its layers: more layers add weights, not sequences, and would only
make this line take an hour.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from bench.ratio import Line, measured
from bench.subject import bert_base
from headscope.models import load


def _write_model(folder: Path) -> list[str]:
    """The model with a real tokenizer; the words it has one token for."""
    tokenizer = load("default").tokenizer
    bert_base(2).model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return sorted(word for word in tokenizer.get_vocab() if word.isalpha() and word.isascii())


def write_corpus(path: Path, words: list[str], n_sequences: int, n_words: int = 126) -> None:
    chosen = np.random.default_rng(0).choice(words, (n_sequences, n_words))
    path.write_text("".join(" ".join(line) + "\n" for line in chosen), encoding="utf-8")


#: Runs a command and prints its peak. A process of its own, and a small one: what a process is
#: started from counts towards its peak.
_WATCHED = """
import os, sys
pid = os.spawnv(os.P_NOWAIT, sys.argv[1], sys.argv[1:])
_, status, usage = os.wait4(pid, 0)
print(usage.ru_maxrss)
sys.exit(status != 0)
"""


def peak_mebibytes(folder: Path, words: list[str], n_sequences: int, n_words: int = 126) -> float:
    """The largest memory of a whole `headscope analyze` over so many random texts."""
    corpus = folder / f"{n_sequences}.txt"
    write_corpus(corpus, words, n_sequences, n_words)
    with tempfile.TemporaryDirectory() as fresh:
        run = Path(fresh) / "run"
        command = [sys.executable, "-m", "headscope", "analyze", folder, "-c", corpus, "-o", run]
        watched = [sys.executable, "-c", _WATCHED, *map(str, command)]
        done = subprocess.run(watched, check=True, stdout=subprocess.PIPE, text=True)
    return int(done.stdout.split()[-1]) / 1024


def lines() -> Iterator[Line]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        words = _write_model(folder)
        peaks: list[list[float]] = []

        def draw() -> float:
            few, many = (peak_mebibytes(folder, words, n) for n in (200, 2000))
            peaks.append([few, many])
            return many / few

        line = measured("peak memory of analyze at 2,000 sequences / at 200", draw, 1.05, rounds=3)
    few, many = np.median(peaks, axis=0)
    yield replace(line, detail=f" ({many:,.0f} MiB / {few:,.0f} MiB)")
