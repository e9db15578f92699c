"""Where the parts of a data set are, and how many of their rows are wanted."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from headscope.corpora import Source
from headscope.corpora.sampling import sample_in_order
from headscope.errors import InputError, UsageError

T = TypeVar("T")
Part: TypeAlias = Literal["train", "dev"]

#: File stems of the parts, first match wins; a stem may go on after a hyphen or an underscore.
_STEMS: dict[Part, tuple[str, ...]] = {
    "train": ("train", "training"),
    "dev": ("dev", "validation", "valid", "val", "heldout", "test"),
}
_SUFFIXES = (".tsv", ".csv", ".json", ".jsonl", ".ndjson", ".txt")


class DataOptions(BaseModel):
    """Which columns hold what, and how many rows are drawn.

    >>> DataOptions(rows=100).seed
    0
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    text_column: str | None = None
    pair_column: str | None = None
    label_column: str | None = None
    rows: int | None = Field(default=None, ge=1, description="rows drawn at random, all if None")
    seed: int = Field(default=0, ge=0, description="of the draw")


@dataclass(frozen=True, slots=True)
class PartSource:
    """The file of a part. `half` says that the file holds both: one half of it is the part."""

    part: Part
    source: Source
    half: bool = False

    def error(self, found: str, expected: str, line: int | None = None) -> InputError:
        return self.source.error(found, expected, line)

    def fingerprint(self, options: DataOptions) -> str:
        """Of the file's content and everything that decides which rows are taken."""
        identity = {
            "sha256": self.source.sha256(),
            "part": self.part if self.half else "",
            "options": options.model_dump(),
        }
        return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()


def find_part(data: Path, part: Part, title: str, *, halves: bool = False) -> PartSource:
    """The file of a part in a data set's folder, or the folder of all tasks; or the file itself.

    With `halves` (question answering) a single file serves for both parts: the first half of its
    articles to learn from, the second to be tested on. Nobody is ever tested on what was learnt.
    """
    folder = data.expanduser()
    if folder.is_file():
        if not halves:
            raise UsageError(
                f"{data} is one file; expected the folder of {title}, with a train and a dev file, "
                "or both files by their options"
            )
        return PartSource(part, Source(folder), half=True)
    if not folder.is_dir():
        raise UsageError(f"{data}: no such folder; expected the data of {title}")
    inside = next((p for p in (folder / title, folder / title.lower()) if p.is_dir()), folder)
    found = list(_matching(inside, part))
    others = list(_matching(inside, "dev" if part == "train" else "train"))
    if halves and bool(found) != bool(others):
        return PartSource(part, Source([*found, *others][0]), half=True)
    if found:
        return PartSource(part, Source(found[0]))
    names = ", ".join(f"{stem}.tsv" for stem in _STEMS[part][:3])
    there = ", ".join(sorted(p.name for p in inside.iterdir())[:8]) or "nothing"
    raise UsageError(f"{inside} has no {part} file for {title}: expected {names} …; it has {there}")


def _matching(folder: Path, part: Part) -> Iterator[Path]:
    files = sorted(p for p in folder.iterdir() if p.is_file())
    for stem in _STEMS[part]:
        for path in files:
            source = Source(path)
            rest = source.stem.lower().removeprefix(stem)
            begins = source.stem.lower().startswith(stem) and (not rest or rest[0] in "-_.")
            if begins and source.suffix in _SUFFIXES:
                yield path


def drawn(rows: Sequence[T], options: DataOptions, source: PartSource) -> list[T]:
    """The rows that are wanted, in their order; none at all is refused."""
    if not rows:
        raise source.error(f"no examples in the {source.part} split", "at least one")
    if options.rows is None or options.rows >= len(rows):
        return list(rows)
    return list(sample_in_order(iter(rows), len(rows), options.rows, options.seed))
