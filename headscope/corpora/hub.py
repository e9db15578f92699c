"""Data sets of the Hugging Face hub, through the `datasets` package (an extra)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from headscope.corpora.options import ReadOptions
from headscope.corpora.records import record_sequence
from headscope.corpora.source import Source
from headscope.errors import InputError, UsageError
from headscope.types import Sequence


@dataclass(frozen=True, slots=True)
class HubPart:
    """`hf:NAME[@CONFIG][:SPLIT]`; NAME may be a local folder; the split is `train` by default.

    Rows are read as the records of `jsonl`, with the same column names. The data set is kept in
    the package's own cache, mapped into memory, so it can be read again and again.

    >>> HubPart.parse("hf:nyu-mll/glue@mrpc:validation")
    HubPart(dataset='nyu-mll/glue', config='mrpc', split='validation')
    """

    dataset: str
    config: str | None = None
    split: str = "train"

    @classmethod
    def parse(cls, spec: str) -> HubPart:
        name, _, split = spec.removeprefix("hf:").partition(":")
        dataset, _, config = name.partition("@")
        if not dataset:
            raise UsageError(f"{spec!r} names no data set; expected hf:NAME[@CONFIG][:SPLIT]")
        return cls(dataset, config or None, split or "train")

    @property
    def name(self) -> str:
        config = f"@{self.config}" if self.config else ""
        return f"hf:{self.dataset}{config}:{self.split}"

    @property
    def stem(self) -> str:
        return f"{Path(self.dataset).name}-{self.split}"

    def reader_name(self) -> str:
        return "hf"

    def read(self, options: ReadOptions) -> Iterator[Sequence]:
        source = Source(Path(self.name))
        for number, row in enumerate(self._rows(), 1):
            record = {key: value for key, value in row.items() if value is not None}
            yield record_sequence(record, options, source, number)

    def digest(self, options: ReadOptions, limit: int | None) -> str:
        """Of the texts themselves: a data set may change behind its name."""
        digest = hashlib.sha256()
        for sequence in islice(self.read(options), limit):
            digest.update(repr((sequence.id, sequence.text, sequence.pair)).encode())
        return digest.hexdigest()

    def _rows(self) -> Any:
        try:
            import datasets
        except ImportError:
            raise UsageError(
                f"{self.name} needs the datasets package: pip install 'headscope[hf]'"
            ) from None
        try:
            return datasets.load_dataset(self.dataset, self.config, split=self.split)
        except Exception as trouble:  # the package raises whatever its file systems raise
            found = f"{type(trouble).__name__} ({(str(trouble).splitlines() or [''])[0]})"
            expected = "a data set on the hub (with a network), in its cache, or in a folder"
            raise InputError(self.name, found=found, expected=expected) from trouble
