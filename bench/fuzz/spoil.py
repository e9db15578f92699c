"""Seeded ways to spoil a file."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

#: Pieces that formats, decoders and number parsers trip over.
PIECES = tuple(
    piece if isinstance(piece, bytes) else piece.encode("utf-8", "surrogatepass")
    for piece in (
        "\t", "\n", "\r", "\r\n", "\n\n", " ", "\0", "\ufeff", "\u2028", "\u200b", "\u202e", "\x0c",
        "\xa0", "é", "e\u0301", "😀", "漢", "\ud800", "_", "-", "-1", "0", "1", "2", "3-1", "1-2",
        "1.1", "9" * 25, "9" * 4400, "1e999", "-0", "0x10", "٣", "²", "½", "NaN", "Infinity",
        "null", "true", "{}", "[]", "[", "]", "{", "}", "(", ")", "(1", "1)", "(1(2", "|", '"',
        '""', "\\", "\\u0000", "\\ud800", ",", ":", "=", "#", "# ", "# newdoc", "# sent_id = s1",
        "Entity=(e1",
        "Entity=e1)", "# global.Entity = eid-head", "# frame = X 1 A=1", "SpaceAfter=No",
        "#begin document (x); part 1", "#end document", "# begin document x", "# end document",
        "[" * 3000, '{"a":' * 3000, "(" * 3000, "x" * 70000, b"\xff", b"\xfe\xff", b"\xc3",
        b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\x1f\x8b", b"PK\x03\x04",
    )
)  # fmt: skip

Spoil = Callable[[bytearray, random.Random], bytearray]


def _span(content: bytearray, rng: random.Random, most: int = 40) -> tuple[int, int]:
    start = rng.randrange(len(content) + 1)
    return start, min(len(content), start + rng.randint(0, most))


def _flip(content: bytearray, rng: random.Random) -> bytearray:
    if content:
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    return content


def _random_byte(content: bytearray, rng: random.Random) -> bytearray:
    if content:
        content[rng.randrange(len(content))] = rng.randrange(256)
    return content


def _delete(content: bytearray, rng: random.Random) -> bytearray:
    start, end = _span(content, rng)
    return content[:start] + content[end:]


def _repeat(content: bytearray, rng: random.Random) -> bytearray:
    start, end = _span(content, rng)
    return content[:end] + content[start:end] * rng.choice([1, 1, 2, 50]) + content[end:]


def _move(content: bytearray, rng: random.Random) -> bytearray:
    start, end = _span(content, rng)
    part, rest = content[start:end], content[:start] + content[end:]
    at = rng.randrange(len(rest) + 1)
    return rest[:at] + part + rest[at:]


def _insert(content: bytearray, rng: random.Random) -> bytearray:
    at = rng.randrange(len(content) + 1)
    return content[:at] + rng.choice(PIECES) + content[at:]


def _replace(content: bytearray, rng: random.Random) -> bytearray:
    start, end = _span(content, rng, 8)
    return content[:start] + rng.choice(PIECES) + content[end:]


def _cut(content: bytearray, rng: random.Random) -> bytearray:
    return content[: rng.randrange(len(content) + 1)]


def _lines(content: bytearray, rng: random.Random) -> bytearray:
    lines = content.split(b"\n")
    a, b = rng.randrange(len(lines)), rng.randrange(len(lines))
    how = rng.randrange(3)
    if how == 0:
        lines[a], lines[b] = lines[b], lines[a]
    elif how == 1:
        lines.insert(a, lines[b])
    else:
        del lines[a]
    return bytearray(b"\n").join(lines)


def _cells(content: bytearray, rng: random.Random) -> bytearray:
    lines = content.split(b"\n")
    a = rng.randrange(len(lines))
    cells = lines[a].split(b"\t")
    at = rng.randrange(len(cells))
    if rng.random() < 0.3:
        del cells[at]
    else:
        cells[at] = bytearray(rng.choice(PIECES))
    lines[a] = bytearray(b"\t").join(cells)
    return bytearray(b"\n").join(lines)


WAYS: tuple[Spoil, ...] = (
    _flip, _random_byte, _delete, _repeat, _move, _insert, _replace, _cut, _lines, _cells,
)  # fmt: skip


def spoilt(seeds: Sequence[bytes], rng: random.Random) -> bytes:
    """One input: a valid file spoilt one to six times; now and then bytes that are nothing."""
    if rng.random() < 0.03:
        return rng.randbytes(rng.choice([0, 1, 10, 300]))
    content = bytearray(rng.choice(seeds))
    if len(seeds) > 1 and rng.random() < 0.05:
        other = rng.choice(seeds)
        at = rng.randrange(len(other) + 1)
        content = content[: rng.randrange(len(content) + 1)] + other[at:]
    for _ in range(rng.choice([1, 1, 1, 2, 3, 6])):
        content = rng.choice(WAYS)(content, rng)
    return bytes(content)
