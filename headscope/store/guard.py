"""Look before any work whether a run can be written where it is asked for."""

from __future__ import annotations

from pathlib import Path

from headscope.errors import RunError
from headscope.store.durable import explained, is_temporary, remove_tree
from headscope.store.folder import CHECKPOINTS, is_run, read_record
from headscope.store.lock import LOCK, OWNER, RunLock
from headscope.store.remote import RemoteRun


def check_writable(path: str | Path, *, resume: bool) -> None:
    """Refuse at once what `RunWriter.open` would refuse after minutes of preparation."""
    if (remote := RemoteRun.at(path)) is not None:
        with remote.explained("write"):
            check_writable(remote.fetch_to_write(), resume=resume)
        return
    folder = Path(path).expanduser()
    with explained("write", folder):
        refuse_strangers(folder)
        if resume or not is_run(folder):
            return
        if read_record(folder).status == "complete":
            raise finished(folder)
        with RunLock(folder):
            if has_finished_work(folder):
                raise unfinished(folder)


def remove_run(path: str | Path) -> None:
    """Delete a run, if there is one and nobody is writing it; any other folder is left alone."""
    folder = Path(path).expanduser()
    if not is_run(folder):
        return
    with explained("remove", folder), RunLock(folder):
        remove_tree(folder)


def finished(folder: Path) -> RunError:
    """The refusal of a folder with a finished run in it."""
    return RunError(f"{folder} holds a finished run; choose another -o, or delete it")


def unfinished(folder: Path) -> RunError:
    """The refusal of a folder with an unfinished run in it."""
    return RunError(
        f"{folder} holds an unfinished run; add --resume to continue it, choose another -o, or "
        "delete it"
    )


def has_finished_work(folder: Path) -> bool:
    """Whether an unfinished run has anything that would be lost if it were begun again."""
    kept = folder / CHECKPOINTS
    return kept.is_dir() and any(not is_temporary(path.name) for path in kept.iterdir())


def refuse_strangers(folder: Path) -> None:
    """Never write into what is not ours: a file, or a folder with other things in it."""
    if folder.exists() and not folder.is_dir():
        raise RunError(f"{folder} is a file; choose another -o")
    if not folder.is_dir() or is_run(folder):
        return
    ours = {LOCK, OWNER}
    others = sorted(p.name for p in folder.iterdir() if p.name not in ours)
    others = [name for name in others if not is_temporary(name)]
    if others:
        raise RunError(
            f"{folder} is not empty and not a run (it has {others[0]}); choose another -o"
        )
