"""Peak memory does not grow with the corpus.

BERT-base's width with two of its layers: more layers add weights, not sequences, and would only
make this line take an hour.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

from bench.ratio import Line

_CHILD = """
import resource, sys
from bench.subject import bert_base, sequences
from headscope.engine import Settings, choose_measures
from headscope.engine.shard import add, run_shard
model, measures, settings, total = bert_base(2), choose_measures(), Settings(), {}
for start in range(0, int(sys.argv[1]), settings.shard_size):
    n = min(settings.shard_size, int(sys.argv[1]) - start)
    add(total, run_shard(model, measures, sequences(n, 128, seed=start), settings))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def _peak_mebibytes(n_sequences: int) -> float:
    command = [sys.executable, "-c", _CHILD, str(n_sequences)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return int(done.stdout) / 1024


def lines() -> Iterator[Line]:
    few, many = _peak_mebibytes(200), _peak_mebibytes(2000)
    detail = f" ({many:,.0f} MiB / {few:,.0f} MiB)"
    yield Line("peak memory at 2,000 sequences / at 200", many / few, 1.05, detail)
