"""Word vectors: what is read, and what is refused with its line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from headscope.errors import InputError
from headscope.probes.word_vectors import read_vectors


def write(folder: Path, text: str | bytes) -> Path:
    path = folder / "vectors.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_known_lower_case_and_unknown_words(tmp_path: Path) -> None:
    path = write(tmp_path, "cat 1 0\ndog 0 1\n. . 5 5\nThe 3 2\n")
    vectors = read_vectors(path, {"Cat", "bird", "The", "."})
    assert vectors.n_read == 4
    assert vectors.n_dimensions == 2
    assert vectors.table[vectors.row("Cat")].tolist() == [1, 0]
    assert vectors.table[vectors.row("The")].tolist() == [3, 2]
    assert vectors.row("dog") == 0  # nobody wanted it
    np.testing.assert_allclose(vectors.table[vectors.row("bird")], [9 / 4, 8 / 4])


def test_a_header_is_passed_over(tmp_path: Path) -> None:
    vectors = read_vectors(write(tmp_path, "1 3\ncat 1 2 3\n"), {"cat"})
    assert vectors.n_read == 1
    assert vectors.table[1].tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("text", "line", "found"),
    [
        ("cat 1 2\ndog 1\n", 2, "1 numbers"),
        ("cat 1 2\ndog 1 two\n", 2, "'two'"),
        ("cat 1 nan\n", 1, "not finite"),
        ("cat 1 2\n\n", 2, "0 numbers|without a word"),
        ("cat\n", 1, "0 numbers"),
        (b"cat 1 2\n\xff\xfe 1 2\n", 2, "UTF-8"),
    ],
)
def test_a_bad_line_is_refused_by_its_number(
    tmp_path: Path, text: str | bytes, line: int, found: str
) -> None:
    with pytest.raises(InputError, match=rf"vectors\.txt:{line}: found .*({found})"):
        read_vectors(write(tmp_path, text), {"cat"})


def test_no_file_and_no_lines(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        read_vectors(tmp_path / "absent.txt", set())
    with pytest.raises(InputError, match="no vectors"):
        read_vectors(write(tmp_path, ""), set())
