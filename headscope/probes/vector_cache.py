"""Sentence vectors on disk: computed once per model, used by every task."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from headscope.errors import RunError
from headscope.probes.head_vectors import VectorLayout
from headscope.store.durable import explained, write_durably
from headscope.store.lock import LOCK, OWNER, RunLock

_ABOUT, _ROWS, _KEYS = "cache.json", "rows.f16", "keys.b24"
_FORMAT = 2
_KEY_BYTES = 16
#: Behind every key, a checksum of its row.
_SUM_BYTES = 8
_ENTRY_BYTES = _KEY_BYTES + _SUM_BYTES
#: The largest number of float16; what exceeds it is cut there and counted.
_LARGEST = float(np.finfo(np.float16).max)


def text_key(text: str, pair: str | None = None) -> bytes:
    """What a text, or a pair of them, is known by.

    >>> text_key("a") == text_key("a"), text_key("a", "b") == text_key("b", "a")
    (True, False)
    """
    whole = json.dumps([text, pair], ensure_ascii=True).encode()
    return hashlib.blake2b(whole, digest_size=_KEY_BYTES).digest()


class VectorCache:
    """A folder that grows: rows of float16 numbers, and the key of the text each row belongs to.

    Rows are written and synced before their keys and checksums, so a row counts only once it is
    whole; what a killed process left behind is cut off when the folder is opened again, and a row
    that was damaged since counts as absent. `identity` says what the
    vectors depend on (the model's weights, which token, how texts are cut): a folder made with
    another identity is refused.
    """

    def __init__(
        self, folder: Path, layout: VectorLayout, about: dict[str, Any], lock: RunLock
    ) -> None:
        self.folder, self.layout = folder, layout
        self._about, self._lock = about, lock
        entries = (folder / _KEYS).read_bytes()
        self._n_rows = len(entries) // _ENTRY_BYTES
        self._row_of: dict[bytes, int] = {}
        rows = self.rows()
        for row, at in enumerate(range(0, len(entries), _ENTRY_BYTES)):
            entry = entries[at : at + _ENTRY_BYTES]
            key = entry[:_KEY_BYTES]
            # a row that is not what was written, on whatever disk, is computed again
            if _sum(key, rows[row].tobytes()) == entry[_KEY_BYTES:]:
                self._row_of[key] = row

    @classmethod
    def open(cls, folder: str | Path, layout: VectorLayout, identity: Mapping[str, Any]) -> Self:
        """Open a folder of vectors, or begin one; a folder of anything else is refused."""
        path = Path(folder).expanduser()
        about = {
            "format": _FORMAT,
            "identity": dict(identity),
            "layout": {
                "stack": layout.stack,
                "head_widths": [list(widths) for widths in layout.head_widths],
                "layer_widths": list(layout.layer_widths),
            },
        }
        with explained("write", path):
            _refuse_strangers(path)
            path.mkdir(parents=True, exist_ok=True)
            lock = RunLock(path)
            try:
                if (path / _ABOUT).exists():
                    _check(path, about)
                else:
                    write_durably(path / _ABOUT, (json.dumps(about, indent=1) + "\n").encode())
                _cut(path, layout.width)
                return cls(path, layout, about, lock)
            except BaseException:
                lock.release()
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let the next one in."""
        self._lock.release()

    def __len__(self) -> int:
        return self._n_rows

    def __contains__(self, key: bytes) -> bool:
        return key in self._row_of

    def index(self, keys: Sequence[bytes]) -> NDArray[np.int64]:
        """The rows of some texts; every one of them must be there."""
        return np.array([self._row_of[key] for key in keys], dtype=np.int64)

    def append(self, keys: Sequence[bytes], rows: NDArray[np.floating[Any]]) -> int:
        """Add rows; how many numbers were too large for float16 and were cut to its largest."""
        if rows.shape != (len(keys), self.layout.width):
            raise ValueError(f"rows of shape {rows.shape}; expected {len(keys), self.layout.width}")
        n_cut = int((np.abs(rows) > _LARGEST).sum())
        whole = np.clip(rows, -_LARGEST, _LARGEST).astype("<f2")
        with explained("write", self.folder):
            _append(self.folder / _ROWS, whole.tobytes())
            entries = (k + _sum(k, row.tobytes()) for k, row in zip(keys, whole, strict=True))
            _append(self.folder / _KEYS, b"".join(entries))
        for key in keys:
            self._row_of[key] = self._n_rows
            self._n_rows += 1
        return n_cut

    def rows(self) -> NDArray[np.float16]:
        """All rows, mapped from the disk: only what is touched is read."""
        width = self.layout.width
        if not self._n_rows:
            return np.zeros((0, width), np.float16)
        return np.memmap(self.folder / _ROWS, "<f2", "r", shape=(self._n_rows, width))


def _sum(key: bytes, row: bytes) -> bytes:
    """What tells a row that was written from one that was changed."""
    return hashlib.blake2b(row, digest_size=_SUM_BYTES, key=key).digest()


def _append(path: Path, content: bytes) -> None:
    with path.open("ab") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _cut(folder: Path, width: int) -> None:
    """Cut off what has no whole row, or no key."""
    sizes = []
    for name, each in ((_ROWS, 2 * width), (_KEYS, _ENTRY_BYTES)):
        (folder / name).touch()
        sizes.append((folder / name).stat().st_size // each)
    n_rows = min(sizes)
    os.truncate(folder / _ROWS, n_rows * 2 * width)
    os.truncate(folder / _KEYS, n_rows * _ENTRY_BYTES)


def _refuse_strangers(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise RunError(f"{folder} is a file; expected a folder for sentence vectors")
    if not folder.is_dir() or (folder / _ABOUT).exists():
        return
    others = sorted(p.name for p in folder.iterdir() if p.name not in (LOCK, OWNER))
    if others:
        raise RunError(
            f"{folder} is not empty and holds no sentence vectors (it has {others[0]}); "
            "choose another --cache"
        )


def _check(folder: Path, wanted: dict[str, Any]) -> None:
    found: Any = None
    with suppress(ValueError):
        found = json.loads((folder / _ABOUT).read_text(encoding="utf-8"))
    if not isinstance(found, dict) or "identity" not in found:
        raise RunError(f"{folder / _ABOUT} is damaged; delete {folder} to compute its vectors anew")
    if found == json.loads(json.dumps(wanted)):
        return
    old, new = found["identity"], wanted["identity"]
    differ = [
        f"{name}: {_short(old.get(name))} there, {_short(new.get(name))} asked for"
        for name in sorted({*old, *new})
        if old.get(name) != new.get(name)
    ] or ["its format, or the widths of its vectors"]
    raise RunError(
        f"{folder} holds sentence vectors of another kind\n  "
        + "\n  ".join(differ)
        + "\nChoose another --cache, or delete it"
    )


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 40 else f"{text[:12]}…"
