"""What a corpus holds, after a first look at all of it."""

from __future__ import annotations

import hashlib
import json

from pydantic import BaseModel, ConfigDict

from headscope.corpora.options import ReadOptions

#: To be raised whenever a reader changes what it makes of the same file.
READING_VERSION = 1


class FileSummary(BaseModel):
    """One file: its sha256 (decompressed), its reader, its number of sequences before sampling."""

    model_config = ConfigDict(frozen=True)

    name: str
    stem: str
    reader: str
    sha256: str
    n_sequences: int


class CorpusSummary(BaseModel):
    """Counts, files and one fingerprint.

    `n_sequences` and `annotations` (how many sequences carry each) count what the corpus yields,
    that is after `limit` and `sample`; `n_read` counts before `sample`.
    """

    model_config = ConfigDict(frozen=True)

    n_sequences: int
    n_read: int
    annotations: dict[str, int]
    files: tuple[FileSummary, ...]
    options: ReadOptions
    limit: int | None
    sample: int | None
    seed: int
    annotator: str | None

    @property
    def fingerprint(self) -> str:
        """Of the content and everything that decides what is made of it.

        Folders do not matter, file stems do: they are part of the ids.
        """
        identity = {
            "version": READING_VERSION,
            "files": [(file.stem, file.reader, file.sha256) for file in self.files],
            "options": self.options.model_dump(),
            "limit": self.limit,
            "sample": self.sample,
            "seed": None if self.sample is None else self.seed,
            "annotator": self.annotator,
        }
        return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
