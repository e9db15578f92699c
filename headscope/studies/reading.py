"""From a TOML file to a checked document: scale applied, models replaced, names written out."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from pydantic import BaseModel, ValidationError

from headscope.errors import InputError, UsageError
from headscope.studies.document import Limits, StudyDocument
from headscope.studies.matrix import LooseNameError, expanded
from headscope.studies.places import line_of

T = TypeVar("T", bound=BaseModel)

FULL = "full"
#: The model that --model replaces.
MAIN = "main"


@dataclass(frozen=True)
class Wishes:
    """What the command line changes in a study."""

    scale: str = FULL
    model: str | None = None
    models: tuple[str, ...] = ()
    annotate: str | None = None
    without: tuple[str, ...] = ()


@dataclass(frozen=True)
class StudyFile:
    """A study as it will be planned, with its text so that errors can point into it."""

    source: str
    text: str
    document: StudyDocument
    limits: Limits
    wishes: Wishes
    replaced: bool = False
    given: Mapping[str, str] = field(default_factory=dict)

    def refuse(self, path: Sequence[str | int], found: str, expected: str) -> NoReturn:
        """An error that names the file, the line and the field."""
        raise error_at(self.source, self.text, path, found, expected)


def error_at(
    source: str, text: str, path: Sequence[str | int], found: str, expected: str
) -> InputError:
    """The field goes before what was found, as `steps.syntax.measures: …`."""
    named = ".".join(map(str, path))
    where = f"{named}: {found}" if named else found
    return InputError(source, line=line_of(text, path), found=where, expected=expected)


def read_study(source: str, text: str, wishes: Wishes | None = None) -> StudyFile:
    """A study from the text of its file; whatever is wrong is an `InputError` with its line."""
    wishes = wishes or Wishes()
    raw = _parsed(source, text)
    if raw.get("version") != 1 or isinstance(raw.get("version"), bool):
        found = "no version" if "version" not in raw else f"version {raw['version']!r}"
        raise error_at(source, text, ["version"], found, "version = 1")
    raw, limits = _scaled(source, text, raw, wishes.scale)
    raw, given = _with_models(source, text, raw, wishes)
    if wishes.annotate is not None:
        for corpus in _tables(raw, "corpora"):
            if corpus.get("annotate"):
                corpus["annotate"] = None if wishes.annotate == "none" else wishes.annotate
    matrix = raw.get("matrix", {})
    usable = isinstance(matrix, dict) and all(isinstance(v, list) for v in matrix.values())
    try:
        written = expanded(raw, matrix) if usable else raw
    except LooseNameError as loose:
        raise error_at(
            source,
            text,
            loose.path,
            f"{{{loose.name}}} in a text",
            f"it in the name of the entry too, or in a list (one item per {loose.name})",
        ) from None
    document = checked(StudyDocument, written, source, text, ())
    for step in wishes.without:
        if step not in document.steps and step not in document.finetunings:
            known = ", ".join([*document.finetunings, *document.steps])
            raise UsageError(f"--without {step}: no such step; the study has: {known}")
    return StudyFile(source, text, document, limits, wishes, bool(given), given)


def checked(kind: type[T], value: Any, source: str, text: str, path: Sequence[str | int]) -> T:
    """A value as a model, or its first mistake with file, line and field."""
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        # a misspelt field says more than that the one it was meant to be is missing
        first = min(error.errors(), key=lambda one: one["type"] != "extra_forbidden")
        place = [*path, *(p for p in first["loc"] if not _is_branch(p))]
        raise error_at(source, text, place, *_told(first, kind, value)) from None


def _is_branch(part: str | int) -> bool:
    """Pydantic names the branch of a union in its path; no file does."""
    return isinstance(part, str) and bool(re.fullmatch(r"str|int|float|bool|list\[.*\]", part))


def _told(error: Any, kind: type[BaseModel], value: Any) -> tuple[str, str]:
    what, given = error["type"], error.get("input")
    if what == "extra_forbidden":
        fields = list(kind.model_fields)
        for part in error["loc"][:-1]:
            inner = kind.model_fields.get(str(part))
            fields = _inner_fields(inner) or fields
        name = str(error["loc"][-1])
        close = difflib.get_close_matches(name, fields, n=1)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        return f"an unknown field{hint}", f"one of {', '.join(fields)}"
    if what == "missing":
        return "nothing", "a value"
    shown = repr(given) if len(repr(given)) < 60 else f"{repr(given)[:57]}…"
    message = re.sub(r"^Input should be ", "", error["msg"])
    return f"{shown} ({type(given).__name__})", message


def _inner_fields(info: Any) -> list[str]:
    kinds = re.findall(r"document\.(\w+)", str(getattr(info, "annotation", "")))
    import headscope.studies.document as known

    for name in kinds:
        found = getattr(known, name, None)
        if isinstance(found, type) and issubclass(found, BaseModel):
            return list(found.model_fields)
    return []


def _parsed(source: str, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        at = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
        line = int(at[1]) if at else len(text.splitlines()) or None
        found = re.sub(r"\s*\(at .*\)$", "", str(error))
        found = found[:1].lower() + found[1:]
        raise InputError(source, line=line, found=found, expected="TOML") from None
    except (ValueError, RecursionError) as error:  # a number, or brackets, without end
        raise InputError(source, found=str(error), expected="TOML") from None


def _scaled(
    source: str, text: str, raw: dict[str, Any], scale: str
) -> tuple[dict[str, Any], Limits]:
    """The document with what a scale changes, and the limits it sets."""
    scales = raw.get("scale", {})
    raw = {key: value for key, value in raw.items() if key != "scale"}
    if not isinstance(scales, dict) or not all(isinstance(s, dict) for s in scales.values()):
        raise error_at(source, text, ["scale"], "something else", "tables such as [scale.small]")
    if scale not in scales:
        if scale == FULL:
            return raw, Limits()
        known = ", ".join([FULL, *scales])
        raise UsageError(f"--scale {scale}: {source} knows {known}")
    changes = dict(scales[scale])
    limits = checked(Limits, changes.pop("limits", {}), source, text, ["scale", scale, "limits"])
    for table, entries in changes.items():
        _check_names(source, text, raw, scale, table, entries)
    return _merged(raw, changes), limits


def _check_names(
    source: str, text: str, raw: Mapping[str, Any], scale: str, table: str, entries: Any
) -> None:
    """A scale changes what is there; it does not add to it."""
    if table == "matrix":
        return
    if table not in ("models", "corpora", "finetunings", "steps"):
        raise error_at(
            source,
            text,
            ["scale", scale, table],
            f"{table!r}",
            "limits, matrix, models, corpora, finetunings or steps",
        )
    there = raw.get(table, {})
    for name in entries if isinstance(entries, dict) else ():
        if name not in there:
            raise error_at(
                source,
                text,
                ["scale", scale, table, name],
                "a name that the study does not have",
                f"one of {', '.join(there) or 'none'}",
            )


def _merged(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    whole = dict(old)
    for key, value in new.items():
        before = whole.get(key)
        both = isinstance(before, Mapping) and isinstance(value, Mapping)
        whole[key] = _merged(before, value) if both else value  # type: ignore[arg-type]
    return whole


def _tables(raw: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    entries = raw.get(name, {})
    values = entries.values() if isinstance(entries, dict) else ()
    return [entry for entry in values if isinstance(entry, dict)]


def _with_models(
    source: str, text: str, raw: dict[str, Any], wishes: Wishes
) -> tuple[dict[str, Any], dict[str, str]]:
    """The models of the command line instead of the file's."""
    if wishes.model is not None and wishes.models:
        raise UsageError("--model and --models: expected one of them")
    matrix = raw.get("matrix", {})
    several = isinstance(matrix, dict) and "model" in matrix
    if wishes.models and not several:
        raise UsageError(
            f"--models: {source} is about one model; expected a study with a matrix of models, "
            "such as emergence"
        )
    if wishes.models:
        given = dict(zip(model_names(wishes.models), wishes.models, strict=True))
    elif wishes.model is not None:
        given = {MAIN: wishes.model}
    else:
        return raw, {}
    old = raw.get("models", {})
    raw = {**raw, "models": given}
    if isinstance(matrix, dict):
        raw["matrix"] = {axis: _still(values, old, given) for axis, values in matrix.items()}
    return raw, given


def _still(values: Any, old: Any, given: Mapping[str, str]) -> Any:
    """An axis of models goes through those that are there now; other axes stay."""
    if not isinstance(values, list) or not values or not set(values) <= set(old):
        return values
    return [value for value in values if value in given] or list(given)


def model_names(paths: Sequence[str]) -> list[str]:
    """A name for every model, from the end of its path; longer where two have the same.

    >>> model_names(["out/ckpt-1/", "out/ckpt-2"]), model_names(["a/model", "b/model"])
    (['ckpt-1', 'ckpt-2'], ['a-model', 'b-model'])
    """
    parts = [[p for p in re.split(r"[/\\]+", path) if p not in ("", ".", "..")] for path in paths]
    for depth in range(1, max(map(len, parts), default=1) + 1):
        names = [re.sub(r"[^A-Za-z0-9_.-]", "-", "-".join(p[-depth:])) or "model" for p in parts]
        if len(set(names)) == len(names):
            return names
    raise UsageError(f"--models: {', '.join(paths)}: expected different models")


def read_study_file(path: Path, wishes: Wishes | None = None) -> StudyFile:
    """A study from a file of the user's."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(path, found="no such file", expected="a study file (TOML)") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(path, found=f"an unreadable file ({error})", expected="TOML") from None
    return read_study(str(path), text, wishes)
