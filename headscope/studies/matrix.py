"""One table for many tasks or models: names in braces, written out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

#: Tables whose entries may be written once for many.
TABLES = ("corpora", "finetunings", "steps")


class LooseNameError(ValueError):
    """A name in braces where there is nothing to go through."""

    def __init__(self, path: Sequence[str | int], name: str) -> None:
        self.path, self.name = tuple(path), name
        super().__init__(f"{{{name}}} in {'.'.join(map(str, path))}")


def expanded(document: Mapping[str, Any], matrix: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """The document with every `{name}` of the matrix written out.

    An entry whose own name has `{task}` is written once per task, and `{task}` inside it is that
    task. Elsewhere an item of a list with `{task}` becomes one item per task. A `label` made of the
    values tells the copies apart for people.

    >>> steps = {"read_{task}": {"corpus": "{task}"}, "all": {"runs": ["read_{task}"]}}
    >>> expanded({"steps": steps}, {"task": ["a", "b"]})["steps"]["read_b"]
    {'corpus': 'b', 'label': 'b'}
    >>> expanded({"steps": steps}, {"task": ["a", "b"]})["steps"]["all"]
    {'runs': ['read_a', 'read_b']}
    """
    whole = dict(document)
    for table in TABLES:
        entries = document.get(table)
        if isinstance(entries, Mapping):
            whole[table] = dict(_entries(table, entries, matrix))
    for table in ("show", "claims"):
        if isinstance(listed := document.get(table), list):
            whole[table] = [_filled(one, {}, matrix, (table, i)) for i, one in enumerate(listed)]
    return whole


def _entries(
    table: str, entries: Mapping[str, Any], matrix: Mapping[str, Sequence[str]]
) -> Iterator[tuple[str, Any]]:
    for name, entry in entries.items():
        own = sorted(
            (a for a in matrix if f"{{{a}}}" in name), key=lambda a: name.index(f"{{{a}}}")
        )
        for values in product(*(matrix[axis] for axis in own)):
            chosen = dict(zip(own, values, strict=True))
            filled = _filled(entry, chosen, matrix, (table, name))
            if own and table != "corpora" and isinstance(filled, dict):
                filled.setdefault("label", " ".join(values))
            yield _replaced(name, chosen), filled


def _filled(
    value: Any,
    chosen: Mapping[str, str],
    matrix: Mapping[str, Sequence[str]],
    path: tuple[str | int, ...],
) -> Any:
    if isinstance(value, str):
        text = _replaced(value, chosen)
        loose = next((axis for axis in matrix if f"{{{axis}}}" in text), None)
        if loose is not None:
            raise LooseNameError(path, loose)
        return text
    if isinstance(value, Mapping):
        return {k: _filled(v, chosen, matrix, (*path, k)) for k, v in value.items()}
    if isinstance(value, list):
        items: list[Any] = []
        for item in value:
            axes = (
                [axis for axis in matrix if axis not in chosen and f"{{{axis}}}" in item]
                if isinstance(item, str)
                else []
            )
            for values in product(*(matrix[axis] for axis in axes)):
                more = {**chosen, **dict(zip(axes, values, strict=True))}
                items.append(_filled(item, more, matrix, path))
        return items
    return value


def _replaced(text: str, chosen: Mapping[str, str]) -> str:
    return re.sub(r"\{(\w+)\}", lambda m: chosen.get(m[1], m[0]), text)
