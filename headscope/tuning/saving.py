"""Disk errors in other libraries' saving, in our words."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from safetensors import SafetensorError

from headscope.errors import RunError
from headscope.store.durable import explained

#: How torch names a file it could not write: it raises nothing more special than RuntimeError.
_TORCH = ("PytorchStreamWriter", "inline_container", "iostream error", "unexpected pos")


@contextlib.contextmanager
def saving(path: Path) -> Iterator[None]:
    """A disk that is full or fails, whoever met it, is one sentence; other errors pass."""
    try:
        with explained("write", path):
            yield
    except SafetensorError as error:
        raise RunError(f"cannot write {path}: {_reason(str(error))}") from error
    except RuntimeError as error:
        if not any(sign in str(error) for sign in _TORCH):
            raise
        raise RunError(f"cannot write {path}: {_reason(str(error))}") from error


def _reason(told: str) -> str:
    """What is the matter, as far as the library says.

    >>> _reason("I/O error: No space left on device (os error 28)")
    'the disk is full; free some space and try again'
    """
    if "os error 28" in told or "No space left" in told:
        return "the disk is full; free some space and try again"
    first = told.splitlines()[0] if told else "the file could not be written"
    return f"{first[:200]} (is the disk full?)"
