"""How a run was made, in words and rows, from its record (`run.json`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headscope.figures.theme import STACK_TITLES
from headscope.figures.wording import count, listed, plural


@dataclass(frozen=True, slots=True)
class Section:
    """A titled list of names and values; the page escapes both."""

    title: str
    rows: tuple[tuple[str, str], ...]


def shape(record: Mapping[str, Any]) -> str:
    """The stacks of the model.

    >>> shape({"model": {"stacks": [{"stack": "self", "n_layers": 6, "n_heads": 12}]}})
    '6 layers × 12 heads'
    """
    parts = []
    for s in record.get("model", {}).get("stacks", ()):
        size = f"{plural(s['n_layers'], 'layer')} × {plural(s['n_heads'], 'head')}"
        name = STACK_TITLES.get(s["stack"], s["stack"])
        parts.append(size if s["stack"] == "self" else f"{name}: {size}")
    return listed(parts) if parts else ""


def what_was_run(record: Mapping[str, Any]) -> str:
    """One sentence: which model read what."""
    model, corpus = record.get("model", {}), record.get("corpus", {})
    details = ", ".join(part for part in (model.get("family", ""), shape(record)) if part)
    n_sequences, n_tokens = amounts(record)
    tokens = f" ({plural(n_tokens, 'token')})" if n_tokens else ""
    name = f" of {corpus['name']}" if corpus.get("name") else ""
    return (
        f"{model.get('name', 'The model')}{f' ({details})' if details else ''} read "
        f"{plural(n_sequences, 'sequence')}{tokens}{name}."
    )


def amounts(record: Mapping[str, Any]) -> tuple[int, int]:
    """Numbers of sequences and of tokens that were read."""
    counts = record.get("counts", {})
    n_sequences = counts.get("n_sequences", record.get("corpus", {}).get("n_sequences", 0))
    return n_sequences, counts.get("n_tokens", 0)


def left_out(record: Mapping[str, Any]) -> Section:
    """What was skipped or cut, and why."""
    skipped = [(s["name"], s["reason"]) for s in record.get("skipped", ())]
    notes = [("note", note) for note in record.get("notes", ())]
    return Section("Skipped or cut", tuple(skipped + notes))


def sections(record: Mapping[str, Any]) -> list[Section]:
    """Everything else the record tells, grouped for reading."""
    known = {"model", "corpus", "request", "libraries", "timings", "skipped", "counts", "notes"}
    request = dict(record.get("request", {}))
    measures = [
        (m["name"], f"version {m.get('version', 1)}{_parameters(m.get('parameters', {}))}")
        for m in request.pop("measures", ())
    ]
    rest = {name: value for name, value in record.items() if name not in known}
    groups: list[tuple[str, Sequence[tuple[str, str]]]] = [
        ("Model", _model(record)),
        ("Corpus", list(_leaves(record.get("corpus", {})))),
        ("Counts", list(_leaves(record.get("counts", {})))),
        ("Measures", measures),
        ("What was asked", list(_leaves(request))),
        ("Versions", list(_leaves(record.get("libraries", {})))),
        ("Time", list(_leaves(record.get("timings", {}), unit=" s"))),
        ("Run", list(_leaves(rest))),
    ]
    return [Section(title, tuple(rows)) for title, rows in groups if rows]


def _model(record: Mapping[str, Any]) -> list[tuple[str, str]]:
    fields = {k: v for k, v in record.get("model", {}).items() if k != "stacks"}
    size = [("size", shape(record))] if shape(record) else []
    return size + list(_leaves(fields))


def _parameters(parameters: Mapping[str, Any]) -> str:
    pairs = [f"{name} = {value}" for name, value in _leaves(parameters)]
    return f" ({', '.join(pairs)})" if pairs else ""


def _words(name: str) -> str:
    """A field's name for people.

    >>> _words("n_sequences_cut"), _words("n_layers")
    ('sequences cut', 'layers')
    """
    return name.removeprefix("n_").replace("_", " ")


def _leaves(value: Any, path: str = "", unit: str = "") -> Iterator[tuple[str, str]]:
    """Nested values as rows; empty ones are left out, lists of plain values become one row."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            name = _words(str(key))
            yield from _leaves(item, f"{path} · {name}" if path else name, unit)
    elif isinstance(value, list | tuple) and any(isinstance(v, Mapping | list) for v in value):
        for number, item in enumerate(value, start=1):
            yield from _leaves(item, f"{path} {number}", unit)
    elif isinstance(value, list | tuple):
        if value:
            yield path, ", ".join(_text(v) for v in value)
    elif value is not None and value != "":
        yield path, _text(value) + (unit if isinstance(value, int | float) else "")


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.4g}"
    return count(value) if isinstance(value, int) else str(value)
