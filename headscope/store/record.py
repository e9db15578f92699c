"""What run.json says: what was asked, of what, with what, and how it went."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import math
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import PurePath
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, JsonValue

from headscope.version import RUN_FORMAT, __version__

#: Distributions whose version can change a number or a picture.
LIBRARIES = ("torch", "transformers", "tokenizers", "numpy", "scipy", "scikit-learn", "pyarrow")


def jsonable(value: Any) -> Any:
    """The value as JSON would give it back, so that a record survives being written and read.

    Tuples and sets become lists, numpy numbers plain ones, paths strings, and numbers that JSON
    lacks their names.

    >>> jsonable({"tau": np.float64(3.0), "path": PurePath("a"), "cap": float("inf"), "k": (1, 2)})
    {'tau': 3.0, 'path': 'a', 'cap': 'Infinity', 'k': [1, 2]}
    """
    if isinstance(value, Mapping):
        return {str(key): jsonable(item) for key, item in value.items()}
    if isinstance(value, set | frozenset):
        return sorted((jsonable(item) for item in value), key=repr)
    if isinstance(value, list | tuple):
        return [jsonable(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return jsonable(value.tolist())
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    return value


Json = Annotated[dict[str, JsonValue], BeforeValidator(jsonable)]


class _Part(BaseModel):
    """Read-only; fields a later version added are kept as they are."""

    model_config = ConfigDict(frozen=True, extra="allow")


class MeasureRecord(_Part):
    """A measure's frozen description, from which it can be rebuilt."""

    name: str
    version: int | str = 1
    parameters: Json = Field(default_factory=dict)


class Request(_Part):
    """What was asked.

    `settings` are those that can change a result (batch and shard size, length rule, dtype);
    `engine` only says how it was computed (which engine, how many workers) and may differ when a
    run is resumed.
    """

    model: Json = Field(default_factory=dict)
    corpus: Json = Field(default_factory=dict)
    measures: tuple[MeasureRecord, ...] = ()
    settings: Json = Field(default_factory=dict)
    seeds: Json = Field(default_factory=dict)
    engine: Json = Field(default_factory=dict)


class StackRecord(_Part):
    """How many layers and heads one stack has."""

    stack: str = "self"
    n_layers: int
    n_heads: int


class ModelRecord(_Part):
    """The model that was looked at."""

    name: str
    family: str = ""
    fingerprint: str = ""
    stacks: tuple[StackRecord, ...] = ()
    dtype: str = ""
    n_parameters: int | None = None


class CorpusRecord(_Part):
    """The corpus it was looked at with; `annotations` counts the sequences that carry each.

    `tokens_fingerprint` is of all sequences as the tokenizer saw them: equal for two models that
    read the same tokens.
    """

    name: str = ""
    fingerprint: str = ""
    n_sequences: int = 0
    files: tuple[str, ...] = ()
    annotations: dict[str, int] = Field(default_factory=dict)
    tokens_fingerprint: str = ""


class SkippedRecord(_Part):
    """A measure that did not run, and why."""

    name: str
    reason: str


def now() -> datetime:
    """The current time in UTC, to the second."""
    return datetime.now(UTC).replace(microsecond=0)


def library_versions() -> dict[str, str]:
    """The installed versions of what the numbers depend on; nothing is imported for it."""
    found = {}
    for name in LIBRARIES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


class RunRecord(_Part):
    """Everything run.json holds. Build it step by step with `updated`.

    >>> record = RunRecord(model=ModelRecord(name="tiny"))
    >>> record = record.updated(counts={"n_sequences": 3}, notes=["seen"])
    >>> record.status, record.counts
    ('running', {'n_sequences': 3})
    """

    format: int = RUN_FORMAT
    headscope: str = __version__
    status: Literal["running", "complete"] = "running"
    created: AwareDatetime = Field(default_factory=now)
    finished: AwareDatetime | None = None
    request_digest: str = ""
    request: Request = Field(default_factory=Request)
    model: ModelRecord
    corpus: CorpusRecord = Field(default_factory=CorpusRecord)
    libraries: dict[str, str] = Field(default_factory=library_versions)
    timings: Json = Field(default_factory=dict)
    skipped: tuple[SkippedRecord, ...] = ()
    counts: dict[str, int] = Field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def updated(self, **changes: Any) -> Self:
        """A copy with these fields replaced, checked like a new record."""
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        return type(self).model_validate({**fields, **(self.model_extra or {}), **changes})

    def identity(self) -> dict[str, Any]:
        """What determines the results; two runs that agree on it have the same tables."""
        return {
            "format": self.format,
            "request": self.request.model_dump(mode="json", exclude={"engine"}),
            "model": {"fingerprint": self.model.fingerprint},
            "corpus": {"fingerprint": self.corpus.fingerprint},
        }

    def digest(self) -> str:
        """SHA-256 of the identity as canonical JSON (keys sorted, no spaces).

        >>> a = RunRecord(model=ModelRecord(name="a", fingerprint="f"))
        >>> a.digest() == a.updated(request={"engine": {"workers": 8}}).digest()
        True
        >>> a.digest() == a.updated(request={"seeds": {"sample": 1}}).digest()
        False
        """
        text = json.dumps(self.identity(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def to_json(self) -> str:
        """The text of run.json."""
        fields = self.updated(request_digest=self.digest()).model_dump(mode="json")
        return json.dumps(fields, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def differences(old: RunRecord, new: RunRecord) -> list[str]:
    """What differs between two identities, as `field: old value → new value`.

    >>> a = RunRecord(model=ModelRecord(name="a"), request={"settings": {"batch_size": 8}})
    >>> differences(a, a.updated(request={"settings": {"batch_size": 16}}))
    ['request.settings.batch_size: 8 → 16']
    """
    mine, theirs = dict(_leaves(old.identity())), dict(_leaves(new.identity()))
    return [
        f"{key}: {mine.get(key, 'absent')} → {theirs.get(key, 'absent')}"
        for key in sorted(mine.keys() | theirs.keys())
        if mine.get(key) != theirs.get(key)
    ]


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Every leaf of nested JSON by its dotted path, as short JSON text.

    Measures go by their names, so that one more of them does not make all the others differ.
    """
    if (
        isinstance(value, list)
        and value
        and all(isinstance(v, dict) and "name" in v for v in value)
    ):
        value = {v["name"]: {k: w for k, w in v.items() if k != "name"} for v in value}
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _leaves(item, f"{path}.{key}" if path else key)
        return
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    yield path, text if len(text) <= 60 else text[:57] + "…"
