"""Which names tables, arrays and files of a run may have."""

from __future__ import annotations

import re

from headscope.errors import RunError

_TABLE = re.compile(r"[a-z][a-z0-9_]{0,99}")
_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_RESERVED = frozenset({"run.json", "tables", "arrays", "checkpoints"})


def check_table_name(name: str) -> str:
    """Tables are named like SQL names: small letters, digits, underscores.

    >>> check_table_name("../../etc")
    Traceback (most recent call last):
    headscope.errors.RunError: '../../etc' cannot name a table; expected small letters, digits and _
    """
    if not _TABLE.fullmatch(name):
        raise RunError(f"{name!r} cannot name a table; expected small letters, digits and _")
    return name


def check_array_name(name: str) -> str:
    """Arrays are named like plain files, without folders."""
    if not _FILE.fullmatch(name):
        raise RunError(f"{name!r} cannot name an array; expected letters, digits, . _ -")
    return name


def check_file_name(name: str) -> str:
    """Other files are plain names too, and not those that make the run."""
    if not _FILE.fullmatch(name) or name.lower() in _RESERVED:
        raise RunError(f"{name!r} cannot name a file of a run; expected a plain name of its own")
    return name
