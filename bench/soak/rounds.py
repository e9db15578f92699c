"""`analyze` again and again in one process, over a corpus that is longer every time.

Says one line of JSON per round: sentences, seconds, seconds of processor time.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from pathlib import Path

import headscope as hs
from bench.soak.grown_corpus import GrownCorpus

#: Sentences added per round, runs kept for the explorer, and rest per second of processor time.
STEP, KEPT, REST = 66, 3, 4.0


def main(model_folder: Path, runs: Path, work: Path) -> None:
    """Until somebody ends it."""
    model = hs.load(model_folder)
    corpus = GrownCorpus(work / "grown.conllu")
    made: list[Path] = []
    while True:
        corpus.grow(STEP)
        made.append(runs / f"grown-{len(made):05d}")
        wall, cpu = time.perf_counter(), time.process_time()
        hs.analyze(model, str(corpus.path), made[-1])
        told = {
            "time": time.time(),
            "n_sentences": corpus.n_sentences,
            "seconds": time.perf_counter() - wall,
            "cpu_seconds": time.process_time() - cpu,
        }
        print(json.dumps(told), flush=True)
        for old in made[:-KEPT]:
            shutil.rmtree(old, ignore_errors=True)
        time.sleep(REST * told["cpu_seconds"])


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))
