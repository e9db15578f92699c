"""Files that are there whole or not at all, whatever happens to the process or the machine."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from headscope.errors import RunError

_REASONS = {
    errno.ENOSPC: "the disk is full; free some space and try again",
    errno.EDQUOT: "the disk quota is used up; free some space and try again",
    errno.EACCES: "no permission to write there",
    errno.EPERM: "no permission to write there",
    errno.EROFS: "it is on a read-only file system",
    errno.ENAMETOOLONG: "the name is too long",
    errno.ENOTDIR: "a part of the path is a file, not a folder",
}


@contextlib.contextmanager
def explained(action: str, path: Path) -> Iterator[None]:
    """Turn the operating system's errors into one sentence.

    >>> with explained("write", Path("/runs/a")):
    ...     raise OSError(errno.ENOSPC, "No space left on device")
    Traceback (most recent call last):
    headscope.errors.RunError: cannot write /runs/a: the disk is full; free some space and try again
    """
    try:
        yield
    except OSError as error:
        reason = _REASONS.get(error.errno or 0, error.strerror or str(error))
        raise RunError(f"cannot {action} {path}: {reason}") from error


def write_durably(path: Path, content: bytes) -> None:
    """Write a file so that a crash leaves the old one or the new one, never a part.

    A temporary file in the same folder is written and synced, takes the name in one step
    (POSIX rename), and the folder is synced so that the name survives a power cut.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        write_synced(temporary, content)
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def write_synced(path: Path, content: bytes) -> None:
    """Write a file and wait until it is on the disk."""
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def sync_file(path: Path) -> None:
    """Wait until a file that somebody else wrote is on the disk."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def sync_folder(path: Path) -> None:
    """Wait until the names in a folder are on the disk; Windows has no such call."""
    if os.name == "nt":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def is_temporary(name: str) -> bool:
    """Whether a file of that name was left behind by a crash.

    >>> is_temporary(".run.json.4711.tmp"), is_temporary("run.json")
    (True, False)
    """
    return name.startswith(".") and name.endswith(".tmp")


def remove_temporaries(folder: Path) -> None:
    """Remove what a crash left half written in a folder."""
    if folder.is_dir():
        for path in folder.iterdir():
            if is_temporary(path.name):
                path.unlink(missing_ok=True)


def remove_tree(folder: Path) -> None:
    """Remove a folder and what is in it, if it is there."""
    if folder.is_dir() and not folder.is_symlink():
        shutil.rmtree(folder)
