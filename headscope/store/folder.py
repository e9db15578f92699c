"""Where things lie in a run folder, and what its run.json says."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import ValidationError

from headscope.errors import RunError
from headscope.store.record import RunRecord
from headscope.store.remote import RemoteRun
from headscope.version import RUN_FORMAT

RUN_JSON = "run.json"
TABLES, ARRAYS, CHECKPOINTS, STAGING = "tables", "arrays", "checkpoints", ".staging"


def is_run(path: str | Path) -> bool:
    """Whether a folder is a run, finished or not.

    >>> is_run("/nowhere")
    False
    """
    remote = RemoteRun.at(path)
    return ((Path(path) if remote is None else remote.folder) / RUN_JSON).is_file()


def read_record(path: str | Path) -> RunRecord:
    """What run.json says, of a finished or an unfinished run, or why it cannot be read."""
    if (remote := RemoteRun.at(path)) is not None:
        with remote.explained("read"):
            return read_record(remote.fetch())
    folder = Path(path)
    if not is_run(folder):
        what = "does not exist" if not folder.exists() else "is not a run (it has no run.json)"
        raise RunError(f"{folder} {what}; expected a folder that headscope wrote")
    file = folder / RUN_JSON
    try:
        fields = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise RunError(f"cannot read {file}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise RunError(f"{file} is damaged: {error}") from error
    written = fields.get("format") if isinstance(fields, dict) else None
    if not isinstance(written, int):
        raise RunError(f"{file} is not the record of a run: it has no format number")
    if written > RUN_FORMAT:
        version = fields.get("headscope", "unknown")
        raise RunError(
            f"{folder} was written by headscope {version} in run format {written}; this version "
            f"reads up to format {RUN_FORMAT}. Update to headscope {version} or later"
        )
    try:
        return RunRecord.model_validate(fields)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise RunError(f"{file} is damaged: {where}: {first['msg']}") from error
