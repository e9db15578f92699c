"""What lies in the folder that is served: runs and sets of labelled maps, and nothing else.

Everything is found by looking, never by joining a name from a request to a path. What a symbolic
link would lead to outside the folder is not there.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from headscope.errors import HeadscopeError, UsageError
from headscope.figures.atlas.plain_text import plain_text
from headscope.store import Run, is_run, open_run

_SIMPLE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
#: How deep, and into how many folders, one looks: nobody should wait for a whole disk.
_DEPTH = 6
_MOST_FOLDERS = 20_000
#: Label files begin with these bytes; see `labelled_maps.save_labels`.
_LABELS = "headscope pattern labels"
_LABEL_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Found:
    """A run or a label file by the name it has in addresses."""

    id: str
    path: Path


@dataclass(frozen=True)
class Folder:
    """A folder to serve; it is looked through anew whenever somebody asks."""

    root: Path
    max_runs: int = 500

    @classmethod
    def at(cls, path: str | Path, max_runs: int = 500) -> Folder:
        root = Path(path).expanduser()
        if not root.is_dir():
            raise UsageError(f"{root} is no folder; expected one with runs in it")
        return cls(root.resolve(), max_runs)

    def runs(self) -> dict[str, Found]:
        """All runs, finished or not, by their ids, in the order of their paths."""
        found = {}
        for folder in self._folders():
            if is_run(folder) and self._inside(folder / "run.json"):
                one = Found(self._id(folder), folder)
                found[one.id] = one
                if len(found) >= self.max_runs:
                    break
        return found

    def run(self, id_: str) -> Run | None:
        """A finished run, None where there is none of that name."""
        found = self.runs().get(id_)
        if found is None:
            return None
        run = open_run(found.path)
        self._refuse_links(found.path)
        return run

    def label_sets(self) -> dict[str, Found]:
        """Label files with their maps beside them."""
        found = {}
        for folder in self._folders():
            for path in sorted(folder.glob("*.json")):
                maps = path.with_suffix(".npz")
                if path.name != "run.json" and maps.is_file() and self._is_label_file(path):
                    one = Found(self._id(path), path)
                    found[one.id] = one
        return found

    def new_label_file(self, name: str) -> Path:
        """Where a new set goes; only plain names, and nothing is ever replaced."""
        if not _SIMPLE.fullmatch(name):
            raise UsageError("a set's name has letters, digits, . _ - and no others")
        path = self.root / f"{name.removesuffix('.json')}.json"
        if path.exists() or path.with_suffix(".npz").exists():
            raise UsageError(f"{path.name} exists already")
        return path

    def _folders(self) -> Iterator[Path]:
        walk = os.walk(self.root, followlinks=False)
        for at, names, _ in itertools.islice(walk, _MOST_FOLDERS):
            here = Path(at)
            depth = len(here.relative_to(self.root).parts)
            run = is_run(here)
            # nothing inside a run is another run
            names[:] = [] if run or depth >= _DEPTH else sorted(n for n in names if n[0] != ".")
            yield here

    def _inside(self, path: Path) -> bool:
        try:
            return path.resolve(strict=True).is_relative_to(self.root)
        except (OSError, RuntimeError):
            return False

    def _refuse_links(self, run: Path) -> None:
        for path in run.rglob("*"):
            if path.is_symlink() and not self._inside(path):
                raise HeadscopeError(f"{run.name}: {path.name} leads out of the folder")

    def _is_label_file(self, path: Path) -> bool:
        if not self._inside(path) or not self._inside(path.with_suffix(".npz")):
            return False
        if path.stat().st_size > _LABEL_BYTES:
            return False
        try:
            with path.open(encoding="utf-8") as file:
                return _LABELS in file.read(200)
        except (OSError, UnicodeDecodeError):
            return False

    def _id(self, path: Path) -> str:
        """A plain name for an address: the path itself where it is one, else with a hash of it.

        >>> Folder(Path("/r"))._id(Path("/r/demo"))
        'demo'
        >>> Folder(Path("/r"))._id(Path("/r/a b/run"))
        'a-b-run-268f96'
        """
        relative = path.relative_to(self.root).as_posix().removesuffix(".json")
        if relative == ".":
            relative = path.name
        if _SIMPLE.fullmatch(relative):
            return relative
        coded = relative.encode("utf-8", "surrogateescape")
        plain = re.sub(r"[^A-Za-z0-9]+", "-", relative).strip("-")[:60] or "run"
        return f"{plain}-{hashlib.sha256(coded).hexdigest()[:6]}"


def described(found: Found) -> dict[str, object]:
    """A run for the list of runs: what can be said without opening a table."""
    told: dict[str, object] = {"id": found.id, "folder": plain_text(found.path.name, 100)}
    try:
        run = open_run(found.path)
    except (HeadscopeError, OSError) as error:
        return {**told, "problem": plain_text(str(error), 300)}
    record = run.record
    told["model"] = plain_text(record.model.name, 200)
    told["corpus"] = plain_text(record.corpus.name, 200)
    told["n_sequences"] = record.corpus.n_sequences
    told["stacks"] = [[s.stack, s.n_layers, s.n_heads] for s in record.model.stacks]
    told["created"] = record.created.isoformat()
    told["tables"] = list(run.tables)
    return told
