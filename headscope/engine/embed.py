"""Sentence vectors of chosen heads: for files, and for scikit-learn."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from headscope.corpora import Corpus
from headscope.engine.batches import length_sorted
from headscope.engine.plan import encoder_for
from headscope.engine.progress import Progress, Silent
from headscope.engine.vectors import vector_layout
from headscope.errors import UsageError
from headscope.models import LoadedModel, collate
from headscope.models.sentence_token import Pooling, default_pooling
from headscope.probes.head_vectors import sentence_vectors
from headscope.store.durable import explained
from headscope.types import Encoded, HeadId
from headscope.types import Sequence as Text

_SHARD = 1024
_SUFFIXES = (".npy", ".parquet")


@dataclass(frozen=True, eq=False)
class Embedding:
    """How texts become vectors: which heads and layers of which model, at which token.

    A text's vector is the outputs of the heads, in the order given, then the hidden states of the
    layers. Without any of them it is every head.
    """

    model: LoadedModel
    parts: tuple[tuple[str, slice], ...]
    how: Pooling
    max_tokens: int | None = None

    @classmethod
    def of(
        cls,
        model: LoadedModel,
        heads: Sequence[HeadId] = (),
        layers: Sequence[int] = (),
        how: Pooling | None = None,
        max_tokens: int | None = None,
    ) -> Embedding:
        """Check the heads and layers (counted from 0) against the model."""
        how = how or default_pooling(model)
        layout = vector_layout(model, how)
        for layer in layers:
            if not 0 <= layer < layout.n_layers:
                raise UsageError(f"no layer {layer + 1}: the model has {layout.n_layers} layers")
        chosen = tuple(model.layout.check(head) for head in heads)
        for head in chosen:
            if head.stack != layout.stack:
                raise UsageError(f"head {head} reads no text of its own; expected {layout.stack}")
        if not chosen and not layers:
            chosen = layout.heads
        parts = [(str(head), layout.head(head)) for head in chosen]
        parts += [(f"layer {layer + 1}", layout.layer(layer)) for layer in layers]
        return cls(model, tuple(parts), how, max_tokens)

    @property
    def width(self) -> int:
        return sum(part.stop - part.start for _, part in self.parts)

    def names(self) -> list[str]:
        """A name for every number of a vector, such as `3-1[0]`."""
        return [f"{name}[{i}]" for name, part in self.parts for i in range(part.stop - part.start)]

    def rows(self, texts: Iterable[Text]) -> Iterator[tuple[list[str], NDArray[np.float32]]]:
        """Shard after shard: the ids of some texts and their vectors, in order."""
        encoder = encoder_for(self.model, max_tokens=self.max_tokens)
        stream = iter(texts)
        while shard := list(islice(stream, _SHARD)):
            encoded = [one for one in encoder.encode_many(shard) if isinstance(one, Encoded)]
            table = np.empty((len(encoded), self.width), np.float32)
            place = {id(one): i for i, one in enumerate(encoded)}
            for part in length_sorted(encoded, 2048):
                batch = collate(part, pad_id=self.model.pad_id, device=self.model.device)
                found = sentence_vectors(self.model, batch, self.how)[0].cpu().numpy()
                kept = np.concatenate([found[:, columns] for _, columns in self.parts], axis=1)
                table[[place[id(one)] for one in part]] = kept
            yield [one.sequence.id for one in encoded], table


def check_target(output: Path) -> Path:
    """Refuse, before any work, a file that cannot be written as vectors."""
    path = output.expanduser()
    if path.suffix.lower() not in _SUFFIXES:
        found = path.suffix or "no suffix"
        raise UsageError(f"{output}: cannot write vectors as {found}; expected .npy or .parquet")
    if path.is_dir():
        raise UsageError(f"{output} is a folder; expected a file")
    if not path.parent.is_dir():
        raise UsageError(f"{output}: the folder {path.parent} does not exist")
    return path


def write_vectors(
    embedding: Embedding, corpus: Corpus, output: Path, progress: Progress | None = None
) -> tuple[int, int]:
    """Write the vectors of a corpus; how many rows and columns. The file appears whole or not.

    `.npy` is a float32 table, a row per sequence in corpus order; `.parquet` has the sequence's
    id, its texts, and one column of vectors per head or layer.
    """
    progress = progress or Silent()
    path = check_target(output)
    n_rows = corpus.scan().n_sequences
    progress.stage("Embedding", n_rows)
    aside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with explained("write", path):
        try:
            write = _write_npy if path.suffix.lower() == ".npy" else _write_parquet
            n_written = write(embedding, corpus, aside, n_rows, progress)
            aside.replace(path)
        finally:
            aside.unlink(missing_ok=True)
    return n_written, embedding.width


def _write_npy(
    embedding: Embedding, corpus: Corpus, path: Path, n_rows: int, progress: Progress
) -> int:
    table = np.lib.format.open_memmap(
        path, mode="w+", dtype=np.float32, shape=(n_rows, embedding.width)
    )
    at = 0
    for ids, vectors in embedding.rows(corpus):
        table[at : at + len(ids)] = vectors
        at += len(ids)
        progress.advance(len(ids), len(ids))
    table.flush()
    return at


def _write_parquet(
    embedding: Embedding, corpus: Corpus, path: Path, n_rows: int, progress: Progress
) -> int:
    texts = iter(corpus)
    widths = {name: part.stop - part.start for name, part in embedding.parts}
    fields = [("id", pa.string()), ("text", pa.string()), ("pair", pa.string())]
    schema = pa.schema(
        [*fields, *((name, pa.list_(pa.float32(), width)) for name, width in widths.items())]
    )
    at = 0
    with pq.ParquetWriter(path, schema) as writer:
        for ids, vectors in embedding.rows(corpus):
            some = list(islice(texts, len(ids)))
            columns: dict[str, pa.Array] = {
                "id": pa.array(ids),
                "text": pa.array([one.text for one in some]),
                "pair": pa.array([one.pair for one in some], pa.string()),
            }
            start = 0
            for name, width in widths.items():
                flat = pa.array(np.ascontiguousarray(vectors[:, start : start + width]).ravel())
                columns[name] = pa.FixedSizeListArray.from_arrays(flat, width)
                start += width
            writer.write_table(pa.table(columns, schema=schema))
            at += len(ids)
            progress.advance(len(ids), len(ids))
    return at
