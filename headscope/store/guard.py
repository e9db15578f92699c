"""Look before any work whether a run can be written where it is asked for."""

from __future__ import annotations

from pathlib import Path

from headscope.errors import RunError
from headscope.store.durable import explained, remove_tree
from headscope.store.folder import is_run, read_record
from headscope.store.lock import RunLock
from headscope.store.writer import _refuse_strangers as refuse_strangers


def check_writable(path: str | Path, *, resume: bool) -> None:
    """Refuse at once what `RunWriter.open` would refuse after minutes of preparation."""
    folder = Path(path).expanduser()
    with explained("write", folder):
        refuse_strangers(folder)
        if resume or not is_run(folder):
            return
        if read_record(folder).status == "complete":
            raise RunError(f"{folder} holds a finished run; choose another -o, or delete it")
        with RunLock(folder):
            pass
        raise RunError(
            f"{folder} holds an unfinished run; add --resume to continue it, choose another -o, "
            "or delete it"
        )


def remove_run(path: str | Path) -> None:
    """Delete a run, if there is one and nobody is writing it; anything else is left alone."""
    folder = Path(path).expanduser()
    if not is_run(folder):
        return
    with explained("remove", folder), RunLock(folder):
        remove_tree(folder)
