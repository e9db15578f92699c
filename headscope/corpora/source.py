"""One file, opened: decompressed, decoded and cut into lines, with errors that name the place."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast
from urllib.parse import urlsplit

from headscope.errors import InputError
from headscope.store.file_systems import as_url, opened

_COMPRESSED: dict[str, Callable[[IO[bytes]], IO[bytes]]] = {
    ".gz": lambda packed: cast("IO[bytes]", gzip.GzipFile(fileobj=packed)),
    ".bz2": bz2.BZ2File,
    ".xz": lzma.LZMAFile,
}
_DAMAGE = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile)
_BOM = b"\xef\xbb\xbf"
#: A longer line is no corpus; refusing it keeps a hostile file from filling the memory.
MAX_LINE_BYTES = 64 * 2**20
_CHUNK = 2**16


@dataclass(frozen=True, slots=True)
class Source:
    """A corpus file. It may be opened as often as one likes.

    Only a newline ends a line (a carriage return before it goes too): form feeds, U+2028 and their
    kind belong to the text, though `str.splitlines` would split there.

    >>> Source(Path("data/dev.conllu.gz")).stem, Source(Path("data/dev.conllu.gz")).suffix
    ('dev', '.conllu')
    """

    path: Path
    url: str = ""

    @classmethod
    def of(cls, place: str | Path) -> Source:
        """The file at a path or a URL.

        >>> Source.of("s3://bucket/dev.conllu.gz").stem, Source.of("s3://bucket/dev.txt").name
        ('dev', 's3://bucket/dev.txt')
        """
        url = as_url(place)
        return cls(Path(place)) if url is None else cls(Path(urlsplit(url).path), url)

    @property
    def name(self) -> str:
        """The path or URL as it was given; errors and sequences carry it."""
        return self.url or str(self.path)

    @property
    def _plain(self) -> Path:
        packed = self.path.suffix.lower() in _COMPRESSED
        return self.path.with_suffix("") if packed else self.path

    @property
    def stem(self) -> str:
        return self._plain.stem

    @property
    def suffix(self) -> str:
        return self._plain.suffix.lower()

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """The decompressed bytes; whatever cannot be opened or unpacked is an `InputError`."""
        opener = _COMPRESSED.get(self.path.suffix.lower())
        try:
            if not self.url and self.path.is_dir():
                raise self.error("a directory", "a file")
            if not self.url and self.path.exists() and not self.path.is_file():
                raise self.error("a pipe or a device", "a file that can be read more than once")
            with opened(self.url) if self.url else self.path.open("rb") as plain:
                if opener is None:
                    yield plain
                else:
                    with opener(plain) as unpacked:
                        yield unpacked
        except FileNotFoundError:
            raise self.error("no such file", "a file that exists") from None
        except _DAMAGE as damage:
            kind = self.path.suffix
            raise self.error(
                f"a truncated or damaged {kind} file ({damage})", "a whole one"
            ) from None
        except OSError as trouble:
            raise self.error(f"a file that cannot be read ({trouble})", "a readable file") from None

    def lines(self) -> Iterator[tuple[int, str]]:
        """Numbered lines, from 1, without their ends."""
        offset = 0
        with self.open() as stream:
            number = 0
            while raw := stream.readline(MAX_LINE_BYTES + 1):
                number += 1
                if len(raw) > MAX_LINE_BYTES:
                    raise self.error(
                        f"a line of more than {MAX_LINE_BYTES:,} bytes", "shorter lines", number
                    )
                yield number, self._decode(raw, number, offset)
                offset += len(raw)

    def _decode(self, raw: bytes, number: int, offset: int) -> str:
        bom = len(_BOM) if number == 1 and raw.startswith(_BOM) else 0
        end = len(raw)
        if raw.endswith(b"\r\n"):
            end -= 2
        elif raw.endswith(b"\n"):
            end -= 1
        try:
            return raw[bom:end].decode("utf-8")
        except UnicodeDecodeError as error:
            at = bom + error.start
            raise self.error(
                f"byte 0x{raw[at]:02x} at byte {offset + at} of the file ({error.reason})",
                "UTF-8 text",
                number,
            ) from None

    def text(self) -> str:
        """The whole file at once, for formats that are one value (JSON); a newline ends a line."""
        return "\n".join(line for _, line in self.lines())

    def head(self, n_lines: int) -> list[str]:
        """The first lines that are not blank, to look at what the file is."""
        found: list[str] = []
        for _, line in self.lines():
            if line.strip():
                found.append(line)
            if len(found) == n_lines:
                break
        return found

    def sha256(self) -> str:
        """Of the decompressed bytes: packing a file anew does not make it another corpus."""
        digest = hashlib.sha256()
        with self.open() as stream:
            while chunk := stream.read(_CHUNK):
                digest.update(chunk)
        return digest.hexdigest()

    def error(self, found: str, expected: str, line: int | None = None) -> InputError:
        return InputError(self.name, found=found, expected=expected, line=line)
