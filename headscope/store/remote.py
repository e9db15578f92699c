"""Runs in an object store: worked on in a local copy, published file by file, run.json last.

An object store knows no folders, no renaming and no locks, but writes a single object in one step.
So a run that goes to a URL is written in a folder of the user's cache, with its checkpoints, as any
other run; when it is complete its files are uploaded and run.json after all of them: whoever looks
there finds a whole run or none. A killed command goes on with `--resume` from the local copy.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Final

import platformdirs
import pyarrow as pa
from pyarrow import fs as pa_fs

from headscope.errors import RunError
from headscope.store.durable import write_durably
from headscope.store.file_systems import as_url, file_system

RUN_JSON: Final = "run.json"
#: What is there remotely and was copied or published: name, size, time of change.
_KNOWN: Final = ".remote.json"
_PUBLISHED = ("tables/*.parquet", "arrays/*.safetensors", "*.html", "*.json")


class RemoteRun:
    """A run at a URL and the folder that stands in for it here."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        digest = hashlib.sha256(self.url.encode()).hexdigest()[:20]
        self.folder = platformdirs.user_cache_path("headscope") / "runs" / digest

    @classmethod
    def at(cls, place: str | Path) -> RemoteRun | None:
        """The remote run that a place names, if it is a URL."""
        url = as_url(place)
        return None if url is None else cls(url)

    @contextlib.contextmanager
    def explained(self, action: str) -> Iterator[None]:
        """Errors of file systems as ours, and our folder under the name people know."""
        try:
            yield
        except (OSError, pa.ArrowException) as error:
            lines = str(error).splitlines() or [type(error).__name__]
            raise RunError(f"cannot {action} {self.url}: {lines[0]}") from error
        except RunError as error:
            if str(self.folder) in str(error):
                raise RunError(str(error).replace(str(self.folder), self.url)) from error
            raise

    def fetch(self) -> Path:
        """The local folder, with whatever is there remotely and new in it.

        A copy of what is there no longer is removed; an unfinished run of this machine stays.
        """
        with self.explained("read"):
            there, known = self._there(), self._known()
            if known and RUN_JSON not in there:
                shutil.rmtree(self.folder, ignore_errors=True)
                known = {}
            if RUN_JSON not in there:
                return self.folder
            system, root = file_system(self.url)
            # run.json first is last here: a run counts once all of it has arrived
            for name in sorted(there, key=lambda name: name == RUN_JSON):
                if known.get(name) != there[name] or not (self.folder / name).is_file():
                    with system.open_input_stream(f"{root}/{name}") as stream:
                        content = stream.read()
                    (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
                    write_durably(self.folder / name, content)
            self._remember(there)
        return self.folder

    def fetch_to_write(self) -> Path:
        """The same, unless something that is no run is there: never write into what is not ours."""
        with self.explained("write"):
            there = self._there()
        ours = [n for n in there if any(PurePosixPath(n).match(one) for one in _PUBLISHED)]
        strangers = sorted(set(there) - set(ours))
        if RUN_JSON not in there and strangers:
            raise RunError(
                f"{self.url} is not empty and not a run (it has {strangers[0]}); choose another -o"
            )
        return self.fetch()

    def publish(self) -> None:
        """Upload the complete run that is in the folder, run.json last."""
        with self.explained("write"):
            found = (path for one in _PUBLISHED for path in self.folder.glob(one))
            names = {p.relative_to(self.folder).as_posix() for p in found if p.name[0] != "."}
            for name in sorted(names, key=lambda name: (name == RUN_JSON, name)):
                self._upload(name)
            self._remember(self._there())

    def publish_file(self, path: Path) -> None:
        """Upload one file that was added to a complete run."""
        with self.explained("write"):
            self._upload(path.relative_to(self.folder).as_posix())
            self._remember(self._there())

    def _upload(self, name: str) -> None:
        system, root = file_system(self.url)
        target = f"{root}/{name}"
        if not isinstance(system, pa_fs.S3FileSystem):
            system.create_dir(target.rpartition("/")[0], recursive=True)
        with system.open_output_stream(target) as stream:
            stream.write((self.folder / name).read_bytes())

    def _there(self) -> dict[str, list[int]]:
        """Every file of the run with its size and time of change."""
        system, root = file_system(self.url)
        chosen = pa_fs.FileSelector(root, recursive=True, allow_not_found=True)
        found = {}
        for info in system.get_file_info(chosen):
            if info.type == pa_fs.FileType.File:
                name = info.path[len(root) :].lstrip("/")
                parts = name.split("/")
                if ".." not in parts and not any(part.startswith(".") for part in parts):
                    found[name] = [int(info.size or 0), int(info.mtime_ns or 0)]
        return found

    def _known(self) -> dict[str, list[int]]:
        try:
            known = json.loads((self.folder / _KNOWN).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return known if isinstance(known, dict) else {}

    def _remember(self, there: dict[str, list[int]]) -> None:
        write_durably(self.folder / _KNOWN, json.dumps(there).encode())
