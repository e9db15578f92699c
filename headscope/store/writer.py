"""Writing a run: resumable until it is complete, complete in one step."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from numpy.typing import NDArray

from headscope.errors import RunError
from headscope.store.checkpoints import Checkpoints
from headscope.store.contents import run_contents
from headscope.store.durable import (
    explained,
    remove_temporaries,
    remove_tree,
    sync_folder,
    write_durably,
    write_synced,
)
from headscope.store.folder import (
    ARRAYS,
    CHECKPOINTS,
    RUN_JSON,
    STAGING,
    TABLES,
    is_run,
    read_record,
)
from headscope.store.guard import finished, has_finished_work, refuse_strangers, unfinished
from headscope.store.lock import LOCK, OWNER, RunLock
from headscope.store.record import RunRecord, differences, now
from headscope.store.remote import RemoteRun
from headscope.store.tensors import Arrays
from headscope.types import Result


class RunWriter:
    """The one writer of a run folder. Open it, save shards, complete it.

    At every moment the folder is either an unfinished run, which `resume=True` continues after
    the last saved shard, or a complete one: the switch is the replacement of run.json, one step
    of the file system. Only one process can hold a writer of a folder.

    >>> import tempfile
    >>> from headscope.store import ModelRecord, RunRecord, RunWriter, open_run
    >>> record = RunRecord(model=ModelRecord(name="tiny"))
    >>> path = Path(tempfile.mkdtemp()) / "run"
    >>> with RunWriter.open(path, record) as writer:
    ...     columns = {"layer": [0], "head": [0], "x": [0.1], "y": [0.2]}
    ...     writer.complete({"map": Result(tables={"head_map": columns})}, record)
    >>> open_run(path).tables
    ('head_map',)
    """

    def __init__(
        self, path: Path, record: RunRecord, lock: RunLock | None, *, fresh: bool, made_folder: bool
    ) -> None:
        self.path = path
        self.record = record
        self.notes: list[str] = []
        #: True if there is nothing left to do: a finished run of the same request was found.
        self.already_complete = record.status == "complete"
        self._lock = lock
        self._fresh, self._made_folder = fresh, made_folder
        self._checkpoints = Checkpoints(path / CHECKPOINTS)
        self._remote: RemoteRun | None = None

    @classmethod
    def open(cls, path: str | Path, record: RunRecord, *, resume: bool = False) -> Self:
        """Start a run at `path`, or continue an unfinished one of the same request.

        Refuses, with a RunError that says what to do, what is not a run, what is finished, what
        was asked differently, what another process is writing, and what cannot be written.
        """
        if (remote := RemoteRun.at(path)) is not None:
            with remote.explained("write"):
                writer = cls.open(remote.fetch_to_write(), record, resume=resume)
                writer._remote = remote
                if writer.already_complete:  # its publication may have been interrupted
                    remote.publish()
            return writer
        folder = Path(path).expanduser()
        with explained("write", folder):
            refuse_strangers(folder)
            # A complete run never changes back, so it needs no lock and no right to write.
            if is_run(folder) and (old := read_record(folder)).status == "complete":
                return cls._finished(folder, old, record, resume=resume)
            made_folder = not folder.exists()
            folder.mkdir(parents=True, exist_ok=True)
            lock = RunLock(folder)
            try:
                return cls._locked(folder, record, lock, resume=resume, made_folder=made_folder)
            except BaseException:
                lock.release()
                raise

    @classmethod
    def _finished(cls, folder: Path, old: RunRecord, new: RunRecord, *, resume: bool) -> Self:
        if not resume:
            raise finished(folder)
        _refuse_other_request(folder, old, new)
        # A crash right after completion leaves these behind; they are only in the way.
        if (folder / CHECKPOINTS).is_dir() or (folder / OWNER).is_file():
            with contextlib.suppress(RunError, OSError), RunLock(folder):
                remove_tree(folder / CHECKPOINTS)
        return cls(folder, old, None, fresh=False, made_folder=False)

    @classmethod
    def _locked(
        cls, folder: Path, record: RunRecord, lock: RunLock, *, resume: bool, made_folder: bool
    ) -> Self:
        notes: list[str] = []
        old = read_record(folder) if is_run(folder) else None
        if old is not None:
            if old.status == "complete":
                lock.release()
                return cls._finished(folder, old, record, resume=resume)
            if not resume:
                if has_finished_work(folder):
                    raise unfinished(folder)
                old = None  # killed before it had done anything: begun again
            else:
                _refuse_other_request(folder, old, record)
                notes = [*old.notes, *_changed_versions(old, record)]
                record = record.updated(created=old.created)
        _clean(folder)
        new = record.updated(status="running", finished=None, notes=_merged(notes, record.notes))
        write_durably(folder / RUN_JSON, new.to_json().encode())
        writer = cls(folder, new, lock, fresh=old is None, made_folder=made_folder)
        writer.notes = notes
        return writer

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the folder; an unfinished run stays there to be resumed."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def finished_shards(self) -> set[int]:
        """The shards that need not be computed again.

        A checkpoint that is not what was written is removed, counts as not done, and leaves a
        note in `notes` and in the final record.
        """
        with explained("read", self._checkpoints.folder):
            whole, notes = self._checkpoints.finished()
        self.notes.extend(notes)
        return whole

    def save_shard(
        self, index: int, arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, Any]
    ) -> None:
        """Keep a shard's arrays and JSON-able metadata; once this returns they survive a crash."""
        self._require_open()
        with explained("write", self._checkpoints.path(index)):
            self._checkpoints.save(index, arrays, metadata)

    def load_shard(self, index: int) -> tuple[Arrays, dict[str, Any]]:
        """The arrays and metadata of a saved shard."""
        with explained("read", self._checkpoints.path(index)):
            return self._checkpoints.load(index)

    def discard(self) -> bool:
        """Undo the opening, if this writer began the run and no shard was finished.

        For errors before any work was done, so that nothing is left that has to be deleted or
        resumed. Says whether it removed anything; closes the writer either way.
        """
        removable = self._lock is not None and self._fresh and not self._checkpoints.any()
        if removable:
            with explained("remove", self.path):
                _clean(self.path)
                remove_tree(self.path / CHECKPOINTS)
                (self.path / RUN_JSON).unlink(missing_ok=True)
                (self.path / OWNER).unlink(missing_ok=True)
                (self.path / LOCK).unlink(missing_ok=True)
        self.close()
        if removable and self._made_folder:
            # Not empty means that someone else put something there meanwhile: leave it.
            with contextlib.suppress(OSError):
                self.path.rmdir()
        return removable

    def complete(
        self,
        results: Mapping[str, Result],
        record: RunRecord,
        *,
        extra_files: Mapping[str, bytes | str] | None = None,
    ) -> None:
        """Write tables, arrays and files, and make the run complete.

        Everything is written and synced aside, then moved into place, then run.json is replaced:
        that is the moment the run becomes complete. Checkpoints go last.
        """
        self._require_open()
        if record.digest() != self.record.digest():
            raise ValueError(f"not the run that was opened: {differences(self.record, record)}")
        content = run_contents(results, extra_files or {})
        final = record.updated(
            status="complete",
            created=self.record.created,
            finished=now(),
            notes=_merged(self.notes, record.notes),
        )
        with explained("write", self.path):
            _clean(self.path)
            staging = self.path / STAGING
            for name in ("", TABLES, ARRAYS):
                (staging / name).mkdir()
            for name, data in content.items():
                write_synced(staging / name, data)
            for folder in (staging / TABLES, staging / ARRAYS, staging):
                sync_folder(folder)
            for entry in sorted(staging.iterdir()):
                entry.replace(self.path / entry.name)
            staging.rmdir()
            sync_folder(self.path)
            write_durably(self.path / RUN_JSON, final.to_json().encode())
        self.record, self.already_complete = final, True
        if self._remote is not None:
            self._remote.publish()
        # The run is complete; what cannot be removed now is only in the way.
        with contextlib.suppress(OSError):
            remove_tree(self.path / CHECKPOINTS)

    def _require_open(self) -> None:
        if self._lock is None or self.already_complete:
            raise RunError(f"{self.path} is not open for writing")


def _refuse_other_request(folder: Path, old: RunRecord, new: RunRecord) -> None:
    if (old.request_digest or old.digest()) == new.digest():
        return
    found = differences(old, new) or ["the request, in a way an older record does not tell"]
    more = f"\n  and {len(found) - 8} more" if len(found) > 8 else ""
    raise RunError(
        f"{folder} cannot be resumed: it was asked differently\n  "
        + "\n  ".join(found[:8])
        + more
        + "\nChoose another -o, or ask the same"
    )


def _changed_versions(old: RunRecord, new: RunRecord) -> list[str]:
    before = {"headscope": old.headscope, **old.libraries}
    after = {"headscope": new.headscope, **new.libraries}
    return [
        f"resumed with {name} {after.get(name, 'absent')}, begun with {before.get(name, 'absent')}"
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    ]


def _merged(first: list[str], second: tuple[str, ...]) -> list[str]:
    """Both lists of notes, each note once."""
    return list(dict.fromkeys([*first, *second]))


def _clean(folder: Path) -> None:
    """Remove what a crash left: temporary files, and tables that were never declared complete."""
    for name in ("", CHECKPOINTS):
        remove_temporaries(folder / name)
    for name in (STAGING, TABLES, ARRAYS):
        remove_tree(folder / name)
