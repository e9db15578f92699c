"""Static word vectors from a text file."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from headscope.errors import InputError


@dataclass(frozen=True, eq=False)
class WordVectors:
    """A vector for every word: its own, its lower-case form's, or the mean of the whole file.

    `table[0]` is that mean; `rows` holds the words that are wanted and known.
    """

    table: NDArray[np.float32]
    rows: dict[str, int]
    sha256: str
    n_read: int

    @property
    def n_dimensions(self) -> int:
        return int(self.table.shape[1])

    def row(self, word: str) -> int:
        """Where a word's vector stands in the table; 0 if the file does not have it."""
        return self.rows.get(word, self.rows.get(word.lower(), 0))


def read_vectors(path: str | Path, wanted: Collection[str]) -> WordVectors:
    """Read a file in GloVe's format (a word and its numbers per line), keeping the wanted words.

    A first line of two whole numbers (word2vec's header) is passed over. Every line is checked.
    """
    file = Path(path).expanduser()
    needed = {form for word in wanted for form in (word, word.lower())}
    rows: dict[str, int] = {}
    kept: list[NDArray[np.float32]] = []
    total: NDArray[np.float64] | None = None
    digest, n_read, width = hashlib.sha256(), 0, 0
    try:
        with file.open("rb") as lines:
            for number, raw in enumerate(lines, 1):
                digest.update(raw)
                word, vector = _parse(file, number, raw, width)
                if vector is None:
                    continue
                width = width or len(vector)
                total = vector.astype(np.float64) if total is None else total + vector
                n_read += 1
                if word in needed and word not in rows:
                    kept.append(vector)
                    rows[word] = len(kept)
    except OSError as error:
        raise InputError(
            file, found=error.strerror or "an error", expected="a file of word vectors"
        ) from error
    if total is None:
        raise InputError(file, found="no vectors", expected="a word and its numbers on every line")
    table = np.stack([(total / n_read).astype(np.float32), *kept])
    return WordVectors(table, rows, digest.hexdigest(), n_read)


def _parse(
    file: Path, number: int, raw: bytes, width: int
) -> tuple[str, NDArray[np.float32] | None]:
    expected = f"a word and {width} numbers" if width else "a word and its numbers"
    try:
        fields = raw.decode("utf-8").rstrip().split(" ")
    except UnicodeDecodeError:
        raise InputError(
            file, line=number, found="bytes that are no UTF-8", expected=expected
        ) from (None)
    if number == 1 and len(fields) == 2 and all(field.isdecimal() for field in fields):
        return "", None
    # a few words of large files contain spaces: the numbers are the last ones
    start = len(fields) - width if width and len(fields) > width else 1
    word, numbers = " ".join(fields[:start]), fields[start:]
    if not word or not numbers or (width and len(numbers) != width):
        found = f"{len(numbers)} numbers" if word else "a line without a word"
        raise InputError(file, line=number, found=found, expected=expected)
    try:
        with np.errstate(over="ignore"):  # what overflows is not finite, and refused as such
            vector = np.array(numbers, dtype=np.float64).astype(np.float32)
    except ValueError:
        bad = next((n for n in numbers if not _is_number(n)), numbers[0])
        raise InputError(file, line=number, found=repr(bad[:40]), expected="a number") from None
    if not np.isfinite(vector).all():
        raise InputError(file, line=number, found="a number that is not finite", expected=expected)
    return word, vector


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
