"""The numbers behind docs/scale.md: `python -m scripts.scale_numbers MODEL CORPUS [N]`.

Seconds are of this process's processor time with one thread, so that a busy machine does not count.
"""

from __future__ import annotations

import pickle
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path

import torch

from headscope.corpora import Corpus
from headscope.engine import Settings, choose_measures
from headscope.engine.checkpoint import load_values, packed, sum_values
from headscope.engine.plan import applicable, encoder_for, make_plan
from headscope.engine.progress import Silent
from headscope.engine.shard import add, run_shard
from headscope.models import load
from headscope.store import ModelRecord, RunRecord, RunWriter
from headscope.types import Encoded

SIZES = (64, 256, 1024)


def main() -> None:
    torch.set_num_threads(1)
    model = load(sys.argv[1], device="cpu")
    n = int(sys.argv[3]) if len(sys.argv) > 3 else 1024
    corpus = Corpus(sys.argv[2], limit=n)
    clock = time.process_time

    start = clock()
    texts = list(corpus)
    read = clock() - start
    encoder = encoder_for(model, dropped="skip")
    start = clock()
    encoded = [e for e in encoder.encode_many(texts) if isinstance(e, Encoded)]
    tokenized = clock() - start
    n_tokens = sum(e.n_tokens for e in encoded)
    start = clock()
    plan = make_plan(corpus, encoder, Settings(), Silent())
    planned = clock() - start
    print(f"{model.name} {model.layout}: {len(encoded):,} sequences, {n_tokens:,} tokens")
    print(f"reading    {n_tokens / read:12,.0f} tokens/s")
    print(f"encoding   {n_tokens / tokenized:12,.0f} tokens/s")
    print(f"planning   {n_tokens / planned:12,.0f} tokens/s (reading and encoding included)")
    work = len(pickle.dumps(texts[:256]))
    print(
        f"work item  {work / sum(e.n_tokens for e in encoded[:256]):12,.0f} bytes/token on its way"
    )

    measures, _ = applicable(choose_measures(), corpus.scan().annotations, model)
    for size in SIZES:
        some = list(islice(encoded, size))
        if len(some) < size:
            break
        start = clock()
        values = run_shard(model, measures, some, Settings(shard_size=size), plan.facts)
        passed = clock() - start
        n_here = sum(e.n_tokens for e in some)
        with tempfile.TemporaryDirectory() as folder:
            record = RunRecord(model=ModelRecord(name="x"))
            with RunWriter.open(Path(folder) / "run", record) as writer:
                for index in range(4):
                    writer.save_shard(index, *packed(values))
                file = next((writer.path / "checkpoints").glob("shard-*"))
                n_bytes = file.stat().st_size
                total = load_values(writer, 0)
                start = clock()
                for _ in range(3):
                    add(total, load_values(writer, 1))
                merged = (clock() - start) / 3
                sum_values(writer, 4)
        print(
            f"shard of {size:5} sequences: {n_here / passed:8,.0f} tokens/s, checkpoint "
            f"{n_bytes / 2**20:6.2f} MiB ({n_bytes / n_here:6.1f} bytes/token), "
            f"merging {merged * 1000:6.1f} ms"
        )


if __name__ == "__main__":
    main()
