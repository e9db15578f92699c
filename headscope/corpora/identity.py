"""Stable ids, unique in a corpus."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable


def unique_stems(stems: Iterable[str]) -> tuple[str, ...]:
    """File stems made different, in order.

    >>> unique_stems(["dev", "train", "dev"])
    ('dev', 'train', 'dev#2')
    """
    seen: Counter[str] = Counter()
    taken: set[str] = set()
    names: list[str] = []
    for stem in stems:
        seen[stem] += 1
        name = stem if seen[stem] == 1 else f"{stem}#{seen[stem]}"
        while name in taken:
            seen[stem] += 1
            name = f"{stem}#{seen[stem]}"
        taken.add(name)
        names.append(name)
    return tuple(names)


class UniqueIds:
    """Names sequences: by their own id, else `stem:n`; a name that was taken gets `#2`, then `#3`.

    Numbered names are different by construction and cost nothing, so plain text streams in flat
    memory. Of given ids a 64-bit digest is kept, about 100 bytes for each.

    >>> ids = UniqueIds()
    >>> [ids.name("a", 1, ""), ids.name("a", 2, "s"), ids.name("b", 1, "s")]
    ['a:1', 's', 's#2']
    """

    def __init__(self) -> None:
        self._given: set[int] = set()
        self._next: dict[int, int] = {}
        self._numbered: dict[str, int] = {}

    def name(self, stem: str, number: int, given: str) -> str:
        """The id of the `number`-th sequence of a file."""
        wanted = given or f"{stem}:{number}"
        name = wanted
        key = _digest(wanted)
        while self._taken(name):
            count = self._next.get(key, 2)
            self._next[key] = count + 1
            name = f"{wanted}#{count}"
        if given or name != wanted:
            self._given.add(_digest(name))
        else:
            self._numbered[stem] = number
        return name

    def _taken(self, name: str) -> bool:
        if self._given and _digest(name) in self._given:
            return True
        # A given id may look like a number handed out before.
        stem, colon, number = name.rpartition(":")
        small = bool(colon) and number.isascii() and number.isdecimal() and len(number) < 19
        return small and int(number) <= self._numbered.get(stem, 0)


def _digest(name: str) -> int:
    raw = name.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(raw, digest_size=8).digest(), "little")
