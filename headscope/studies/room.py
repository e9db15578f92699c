"""What the steps of a study share: data, corpora, models, limits; found once, before any work."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.corpora import Corpus, ReadOptions, Source, shipped_corpus
from headscope.errors import HeadscopeError, ModelError, UsageError
from headscope.studies.document import CorpusPart, Limits
from headscope.studies.reading import StudyFile
from headscope.studies.shape import Shape, shape_of
from headscope.tasks import DataOptions, PartSource, Task, find_part, find_task

if TYPE_CHECKING:
    from headscope.tasks import Part as TaskPart

SHIPPED = "shipped"
#: Sequences that tell how long the others are, and characters to a token in English.
_N_LOOK, _CHARACTERS = 200, 4.2


def lower(value: int | None, limit: int | None) -> int | None:
    """The smaller of two numbers, None being no number.

    >>> lower(None, 3), lower(5, 3), lower(2, None)
    (3, 3, 2)
    """
    known = [number for number in (value, limit) if number is not None]
    return min(known, default=None)


@dataclass
class Room:
    """Names of a study file as things that can be used."""

    file: StudyFile
    data: Path | None = None
    _corpora: dict[str, Corpus] = field(default_factory=dict)
    _prints: dict[Path, str] = field(default_factory=dict)
    _lengths: dict[str, float] = field(default_factory=dict)

    @property
    def limits(self) -> Limits:
        return self.file.limits

    # --- files ------------------------------------------------------------------------------

    def path(self, name: str, at: tuple[str | int, ...]) -> Path:
        """A path below the data folder that exists; else an error at that field of the file."""
        given = Path(name).expanduser()
        if not given.is_absolute():
            if self.data is None:
                self.file.refuse(
                    at,
                    f"{name!r}, a path below the data folder, and no data folder",
                    "--data DIR, or the variable HEADSCOPE_DATA",
                )
            given = self.data / given
        if not given.exists():
            self.file.refuse(
                at,
                f"{name!r}, but {given} does not exist",
                "a file or folder below --data; a step can be left out with --without NAME",
            )
        return given

    def print_of(self, path: Path) -> str:
        """SHA-256 of a file, read once."""
        if path not in self._prints:
            self._prints[path] = Source(path).sha256()
        return self._prints[path]

    # --- texts ------------------------------------------------------------------------------

    def corpus_part(self, name: str, at: tuple[str | int, ...]) -> CorpusPart:
        known = self.file.document.corpora
        if name not in known:
            self.file.refuse(
                at, f"the corpus {name!r}", f"one of [corpora]: {', '.join(known) or 'none'}"
            )
        return known[name]

    def corpus(self, name: str) -> Corpus:
        """A corpus that was read once, so that what is wrong with its files is known."""
        if name not in self._corpora:
            part = self.corpus_part(name, ("corpora",))
            sample = lower(part.sample, self.limits.sequences)
            found = self._opened(name, part.limit, sample, part.annotate)
            found.scan()
            self._corpora[name] = found
        return self._corpora[name]

    def _opened(
        self, name: str, limit: int | None, sample: int | None, annotate: str | None
    ) -> Corpus:
        part, at = self.file.document.corpora[name], ("corpora", name)
        if bool(part.files) == bool(part.task):
            self.file.refuse(at, "both files and task, or neither", "one of them")
        if part.files == [SHIPPED]:
            return shipped_corpus(limit=limit, sample=sample, seed=part.seed)
        if part.task:
            files = [self.task_part(part.task, part.part, part.data, at).source.path]
        else:
            files = [self.path(one, (*at, "files")) for one in part.files]
        options = ReadOptions(
            pair=part.pair,
            unit=part.unit,
            spacing=part.spacing,
            text_column=part.text_column,
            pair_column=part.pair_column,
        )
        return Corpus(
            files,
            reader=part.reader,
            options=options,
            limit=limit,
            sample=sample,
            seed=part.seed,
            annotate=annotate,
        )

    def reading(self, name: str) -> dict[str, Any]:
        """How sequences of a corpus are cut."""
        part = self.file.document.corpora[name]
        limit = lower(part.max_tokens, self.limits.max_tokens)
        return {"max_tokens": limit, "dropped": part.dropped}

    def corpus_identity(self, name: str) -> dict[str, Any]:
        return {"corpus": self.corpus(name).scan().fingerprint, **self.reading(name)}

    def n_tokens(self, name: str) -> int:
        """About how many tokens a corpus has: from the characters of its first sequences."""
        if name not in self._lengths:
            longest = self.reading(name)["max_tokens"] or 512
            first = self._opened(name, _N_LOOK, None, None)  # no annotation: only lengths matter
            plain = [len(s.text) + len(s.pair or "") for s in first]
            each = [min(longest, 3 + n / _CHARACTERS) for n in plain]
            self._lengths[name] = sum(each) / len(each)
        return round(self.corpus(name).scan().n_sequences * self._lengths[name])

    # --- tasks ------------------------------------------------------------------------------

    def task(self, name: str, at: tuple[str | int, ...]) -> Task:
        try:
            return find_task(name)
        except HeadscopeError as error:
            self.file.refuse((*at, "task"), str(error).split(";")[0], "a task that is known")

    def task_part(
        self, name: str, part: TaskPart, data: str, at: tuple[str | int, ...]
    ) -> PartSource:
        """The file of a part of a task's data set."""
        task, folder = self.task(name, at), self.path(data or ".", (*at, "data"))
        try:
            return find_part(folder, part, task.title, halves=task.halves)
        except UsageError as error:
            self.file.refuse((*at, "task"), str(error), f"the data of {task.title} below --data")

    def task_identity(
        self, name: str, part: TaskPart, data: str, at: tuple[str | int, ...]
    ) -> dict[str, Any]:
        source = self.task_part(name, part, data, at)
        half = part if source.half else ""
        return {"task": name, "file": self.print_of(source.source.path), "part": half}

    def task_tokens(
        self, name: str, part: TaskPart, data: str, rows: int | None, at: tuple[str | int, ...]
    ) -> tuple[int, int]:
        """About how many rows and tokens a part of a task's data set has."""
        source = self.task_part(name, part, data, at)
        key = f"{source.source.path} {part}"
        task = self.task(name, at)
        if key not in self._lengths:
            chosen = task.learnt(source, DataOptions()) if part == "train" else task
            examples = chosen.read(source, DataOptions()).examples
            few = [e.sequence for e in examples[:_N_LOOK]]
            longest = lower(task.max_tokens, self.limits.max_tokens) or 128
            each = [min(longest, 3 + (len(s.text) + len(s.pair or "")) / _CHARACTERS) for s in few]
            self._lengths[key] = sum(each) / len(each)
            self._lengths[f"{key} n"] = len(examples)
        n = lower(round(self._lengths[f"{key} n"]), rows) or 0
        return n, round(n * self._lengths[key])

    # --- models -----------------------------------------------------------------------------

    @cached_property
    def sources(self) -> Mapping[str, tuple[str, Path | None]]:
        """Every model's name for `load`, and its folder if it is on this machine."""
        from headscope.models.loading import find_model

        found = {}
        for key, name in self.file.document.models.items():
            at = ("models", key)
            try:
                found[key] = find_model(name)
            except ModelError as error:
                given = self.file.given.get(key)
                if given is not None:
                    raise
                self.file.refuse(at, str(error), "a model that can be loaded, or --model NAME")
        return found

    def model_identity(self, key: str) -> dict[str, Any]:
        """What tells a model apart without loading it: its files, or its hub name."""
        name, folder = self.sources[key]
        if folder is None:
            return {"model": name}
        digest = hashlib.sha256()
        wanted = ("*.safetensors", "config.json", "tokenizer*.json", "vocab.*", "*.bin")
        for file in sorted({f for pattern in wanted for f in folder.glob(pattern)}):
            digest.update(f"{file.name} {self.print_of(file)}\n".encode())
        return {"model": digest.hexdigest()}

    def shape(self, key: str) -> Shape:
        """Layers, heads and sizes of a model, from its config alone; BERT-base's if unknown."""
        return shape_of(self.sources[key][1])


def digest(value: Any) -> str:
    """SHA-256 of JSON with sorted keys.

    >>> digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    True
    """
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()
