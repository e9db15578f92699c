"""Attention maps with labels, as two small files: readable labels, compressed maps."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.errors import InputError
from headscope.measures.patterns.classes import PATTERNS
from headscope.store.durable import explained, write_durably

#: Longer maps are pooled to this many rows and columns before they are kept.
LARGEST = 64
FORMAT = "headscope pattern labels 1"

Map = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Label:
    """Where a map comes from, and what it was seen to be; None is not labelled yet.

    `second` is a later, blind look at the same map; `others` is what each of several annotators
    said, who had the rule and nothing else; `earlier` is what the map was called by an earlier
    rule. Layers and heads count from 0.
    """

    model: str
    stack: str
    layer: int
    head: int
    sequence: str
    n_tokens: int
    split: str = "test"
    label: str | None = None
    second: str | None = None
    earlier: str | None = None
    others: tuple[str, ...] = ()

    @property
    def agreed(self) -> bool:
        """Whether all annotators gave the map the same name."""
        return bool(self.others) and set(self.others) == {self.label}


@dataclass(frozen=True, slots=True, eq=False)
class LabelledMaps:
    """Maps (each at most `LARGEST` tokens wide, rows sum to 1) and their labels, in one order."""

    labels: tuple[Label, ...]
    maps: tuple[Map, ...] = field(repr=False)

    def __len__(self) -> int:
        return len(self.labels)

    def only(self, split: str | None = None) -> LabelledMaps:
        """Those that have a label, of one split or of all."""
        kept = [
            i
            for i, one in enumerate(self.labels)
            if one.label is not None and split in (None, one.split)
        ]
        return LabelledMaps(tuple(self.labels[i] for i in kept), tuple(self.maps[i] for i in kept))

    def with_more(self, others: LabelledMaps) -> LabelledMaps:
        """These maps, then those of another set."""
        return LabelledMaps((*self.labels, *others.labels), (*self.maps, *others.maps))

    def labelled(self, index: int, label: str | None, field_: str = "label") -> LabelledMaps:
        """The same maps with one label, or one `second` look, changed."""
        one = self.labels[index]
        changed = replace(one, second=label) if field_ == "second" else replace(one, label=label)
        labels = (*self.labels[:index], changed, *self.labels[index + 1 :])
        return LabelledMaps(labels, self.maps)

    @property
    def targets(self) -> NDArray[np.int64]:
        """The labels as numbers of `PATTERNS`; every map must have one."""
        return np.array([PATTERNS.index(str(one.label)) for one in self.labels], dtype=np.int64)


def as_image(pattern: NDArray[Any], size: int) -> Map:
    """A map as `size` × `size` cells: mean over the rows of a cell, sum over its columns.

    The same as `resampled`, for one map and without torch's tensors.

    >>> as_image(np.eye(4), 2).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    n = pattern.shape[0]
    edges = np.arange(size + 1) * (n / size)
    token = np.arange(n)
    shared = np.minimum(token + 1, edges[1:, None]) - np.maximum(token, edges[:-1, None])
    shared = np.clip(shared, 0.0, None)
    found = (shared / shared.sum(axis=1, keepdims=True)) @ pattern @ shared.T
    return np.asarray(found, dtype=np.float32)


def pooled(pattern: NDArray[Any], largest: int = LARGEST) -> Map:
    """The map itself if it has at most `largest` tokens, else its image of that size."""
    if pattern.shape[0] <= largest:
        return np.asarray(pattern, dtype=np.float32)
    return as_image(pattern, largest)


def save_labels(path: Path, labels: Iterable[Label]) -> None:
    """Write the labels alone, whole or not at all; the maps beside them stay."""
    listed = [
        {name: v for name, v in asdict(one).items() if name not in ("earlier", "others") or v}
        for one in labels
    ]
    lines = ",\n    ".join(json.dumps(one, ensure_ascii=False) for one in listed)
    text = f'{{\n  "format": "{FORMAT}",\n  "labels": [\n    {lines}\n  ]\n}}\n'
    with explained("write", path):
        write_durably(path, text.encode())


def save_maps(path: Path, found: LabelledMaps) -> None:
    """Write labels to `path` and maps to the .npz file beside it.

    A weight a is kept as round(255 · √a) in one byte: small weights keep their digits, and the
    largest error is 1/255 of a weight near 1.
    """
    bytes_ = [np.rint(255 * np.sqrt(one)).astype(np.uint8).ravel() for one in found.maps]
    packed = io.BytesIO()
    np.savez_compressed(
        packed,
        weights=np.concatenate(bytes_) if bytes_ else np.zeros(0, np.uint8),
        sizes=np.array([len(one) for one in found.maps], dtype=np.int16),
    )
    with explained("write", path):
        write_durably(path.with_suffix(".npz"), packed.getvalue())
    save_labels(path, found.labels)


def load_maps(path: Path) -> LabelledMaps:
    """Read a label file and the maps beside it; anything odd is named with its place."""
    labels = _read_labels(path)
    maps = _read_maps(path.with_suffix(".npz"))
    if len(maps) != len(labels):
        raise InputError(path, found=f"{len(labels)} labels", expected=f"{len(maps)}, as many maps")
    return LabelledMaps(tuple(labels), tuple(maps))


def shipped_maps(split: str | None = None) -> LabelledMaps:
    """The real maps that come with the package, labelled by eye."""
    folder = resources.files("headscope.measures.patterns") / "data"
    return load_maps(Path(str(folder / "real_maps.json"))).only(split)


def _read_labels(path: Path) -> list[Label]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(path, found="no such file", expected="a label file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(path, found=str(error), expected="a readable label file") from None
    except json.JSONDecodeError as error:
        raise InputError(path, line=error.lineno, found=error.msg, expected="JSON") from None
    except (ValueError, RecursionError) as error:  # a number, or brackets, without end
        raise InputError(path, found=str(error), expected="JSON") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InputError(path, found="another format", expected=f'"format": "{FORMAT}"')
    rows = content.get("labels")
    if not isinstance(rows, list):
        raise InputError(path, found="no list of labels", expected='"labels": [...]')
    return [_label(path, number, row) for number, row in enumerate(rows, start=1)]


_KINDS: dict[str, type] = {"layer": int, "head": int, "n_tokens": int}
_NAMES = ("label", "second", "earlier")


def _label(path: Path, number: int, row: object) -> Label:
    names = [f.name for f in fields(Label)]
    if not isinstance(row, dict) or not set(names[:6]) <= row.keys() <= set(names):
        expected = f"an object with {', '.join(names[:6])}"
        raise InputError(path, found=f"label {number}: {row!r:.80}", expected=expected)
    others = row.get("others", [])
    if not isinstance(others, list) or any(one not in PATTERNS for one in others):
        expected = f"a list of {', '.join(PATTERNS)}"
        raise InputError(path, found=f"label {number}: others = {others!r:.40}", expected=expected)
    row = {**row, "others": tuple(others)}
    for name, value in row.items():
        if name == "others":
            continue
        wanted = _KINDS.get(name, str)
        absent = name in _NAMES and value is None
        if not absent and (not isinstance(value, wanted) or isinstance(value, bool)):
            raise InputError(
                path, found=f"label {number}: {name} = {value!r:.40}", expected=wanted.__name__
            )
        if name in _NAMES and not absent and value not in PATTERNS:
            raise InputError(
                path, found=f"label {number}: {value!r:.40}", expected=", ".join(PATTERNS)
            )
    return Label(**row)


#: All that numpy, zipfile and zlib raise at a file that is not what they wrote.
_DAMAGE = (
    OSError,
    ValueError,
    KeyError,
    IndexError,
    TypeError,
    AttributeError,
    EOFError,
    MemoryError,
    RuntimeError,
    zipfile.BadZipFile,
    zlib.error,
)


def _read_maps(path: Path) -> Sequence[Map]:
    expected = "the maps of a label file (weights, sizes)"
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            weights, sizes = stored["weights"], stored["sizes"].astype(np.int64)
    except FileNotFoundError:
        raise InputError(path, found="no such file", expected=expected) from None
    except _DAMAGE as error:
        raise InputError(path, found=str(error), expected=expected) from None
    if weights.ndim != 1 or (sizes < 1).any() or (sizes**2).sum() != len(weights):
        raise InputError(path, found=f"{len(weights)} weights", expected="the squares of sizes")
    ends = np.cumsum(sizes**2)
    return [
        rows_to_one((weights[end - n * n : end].reshape(n, n) / np.float32(255)) ** 2)
        for n, end in zip(sizes.tolist(), ends.tolist(), strict=True)
    ]


def rows_to_one(weights: NDArray[Any]) -> Map:
    """The same map with rows that sum to 1."""
    sums = np.maximum(weights.sum(axis=1, keepdims=True), 1e-9)
    return np.ascontiguousarray(weights / sums, dtype=np.float32)
