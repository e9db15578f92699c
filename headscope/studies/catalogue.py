"""Where studies and data are: built in, in a file, in the folder that a variable names."""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path

from headscope.errors import UsageError
from headscope.studies.reading import StudyFile, Wishes, read_study, read_study_file

_PACKAGE = "headscope.studies.built_in"
VARIABLE = "HEADSCOPE_DATA"


def built_in() -> dict[str, str]:
    """The text of every study that comes with the package, by name."""
    found = {
        entry.name.removesuffix(".toml"): entry.read_text(encoding="utf-8")
        for entry in files(_PACKAGE).iterdir()
        if entry.name.endswith(".toml")
    }
    return dict(sorted(found.items()))


def find_study(name: str, wishes: Wishes | None = None) -> StudyFile:
    """A built-in study by name, else a file of the user's."""
    known = built_in()
    if name in known:
        return read_study(f"{name}.toml", known[name], wishes)
    path = Path(name).expanduser()
    if not path.exists() and "/" not in name and not path.suffix:
        raise UsageError(
            f"no study {name!r}; expected one of {', '.join(known)}, or a file (TOML); "
            "`headscope study new FILE` writes one to begin with"
        )
    return read_study_file(path, wishes)


def data_folder(given: Path | None) -> Path | None:
    """The folder of --data, else the one that HEADSCOPE_DATA names."""
    if given is None:
        told = os.environ.get(VARIABLE)
        if not told:
            return None
        given = Path(told)
    folder = given.expanduser()
    if not folder.is_dir():
        raise UsageError(f"{given}: no such folder; expected the folder of the data sets")
    return folder


def template() -> str:
    """A study with comments, to begin one's own with."""
    return (files("headscope.studies") / "template.toml").read_text(encoding="utf-8")
