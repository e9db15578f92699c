"""What is fuzzed: every function that reads a file somebody else may have written."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.fuzz import valid_files

#: A content in a folder, read; returns if it was read, raises a HeadscopeError if refused.
Read = Callable[[bytes, Path, random.Random], None]


@dataclass(frozen=True)
class Target:
    """A reader by name, valid inputs for it, and how to call it."""

    name: str
    seeds: tuple[bytes, ...]
    read: Read


def corpus_target(reader: str) -> Target:
    """A reader of corpora, with options at random; what it reads must have valid indices."""
    from headscope.corpora import Corpus, ReadOptions
    from headscope.corpora.checks import check_annotations

    def read(content: bytes, folder: Path, rng: random.Random) -> None:
        path = folder / "input"
        path.write_bytes(content)
        options = ReadOptions(
            pair=rng.random() < 0.3,
            unit=rng.choice(["auto", "sentence", "document"]),
            spacing=rng.choice(["single", "original"]),
        )
        corpus = Corpus(path, reader=reader, options=options)
        corpus.scan()
        for sequence in corpus.sequences():
            check_annotations(sequence)

    seeds = tuple(text.encode() for text in valid_files.CORPORA[reader])
    return Target(reader, seeds, read)


def detection_target() -> Target:
    """Which reader a file is for, by suffix and first lines."""
    from headscope.corpora import Corpus

    suffixes = ("tsv", "json", "jsonl", "conll", "txt.gz", "txt.bz2", "txt.xz")
    seeds = tuple(text.encode() for texts in valid_files.CORPORA.values() for text in texts)

    def read(content: bytes, folder: Path, rng: random.Random) -> None:
        path = folder / f"input.{rng.choice(suffixes)}"
        path.write_bytes(content)
        Corpus(path).scan()

    return Target("detection", seeds, read)


def _labels(content: bytes, folder: Path, rng: random.Random) -> None:
    from headscope.measures.patterns.labelled_maps import load_maps

    (folder / "set.json").write_bytes(content)
    (folder / "set.npz").write_bytes(valid_files.maps())
    load_maps(folder / "set.json")


def _maps(content: bytes, folder: Path, rng: random.Random) -> None:
    from headscope.measures.patterns.labelled_maps import load_maps

    (folder / "set.json").write_bytes(valid_files.labels())
    (folder / "set.npz").write_bytes(content)
    load_maps(folder / "set.json")


def _probing(content: bytes, folder: Path, rng: random.Random) -> None:
    from headscope.probes.task_files import read_task

    path = folder / rng.choice(["task.txt", "task.tsv", "task.csv", "task.jsonl", "task.json"])
    path.write_bytes(content)
    read_task(str(path), numbers=rng.random() < 0.3)


def _vectors(content: bytes, folder: Path, rng: random.Random) -> None:
    from headscope.probes.word_vectors import read_vectors

    (folder / "vectors.txt").write_bytes(content)
    read_vectors(folder / "vectors.txt", {"the", "cat"})


def _record(content: bytes, folder: Path, rng: random.Random) -> None:
    from headscope.store import read_record

    (folder / "run.json").write_bytes(content)
    read_record(folder)


def _checkpoint(content: bytes, folder: Path, rng: random.Random) -> None:
    from headscope.store.checkpoints import Checkpoints

    (folder / "shard-00000.safetensors").write_bytes(content)
    Checkpoints(folder).load(0)


def _table(content: bytes, folder: Path, rng: random.Random) -> None:
    from headscope.store.tables import read_table

    (folder / "t.parquet").write_bytes(content)
    read_table(folder / "t.parquet")


def _study(content: bytes, folder: Path, rng: random.Random) -> None:
    from headscope.studies.reading import read_study_file

    (folder / "study.toml").write_bytes(content)
    read_study_file(folder / "study.toml")


def targets() -> dict[str, Target]:
    """All of them, by name."""
    from headscope.corpora import READERS

    found = [corpus_target(name) for name in READERS if name in valid_files.CORPORA]
    tables = [
        text.encode() for name in ("tsv", "csv", "jsonl") for text in valid_files.CORPORA[name]
    ]
    found += [
        detection_target(),
        Target("labels", (valid_files.labels(),), _labels),
        Target("maps", (valid_files.maps(),), _maps),
        Target("probing", (valid_files.SENTEVAL.encode(), *tables), _probing),
        Target("vectors", (valid_files.VECTORS.encode(),), _vectors),
        Target("record", (valid_files.record(),), _record),
        Target("checkpoint", (valid_files.checkpoint(),), _checkpoint),
        Target("table", (valid_files.table(),), _table),
        Target("study", (valid_files.study(),), _study),
    ]
    return {target.name: target for target in found}
