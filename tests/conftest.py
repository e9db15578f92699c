"""What tests of every room share: real data sets, real models, a planted model."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from headscope.measures.roles import ROLES
from headscope.models import LoadedModel
from tests.planted import planted
from tests.said import Headscope, Said

_BESIDE = Path(__file__).resolve().parents[2] / "shared"

# two workers on two cores: more threads would only wait for each other
torch.set_num_threads(1)


@pytest.fixture
def headscope(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Headscope:
    """Run a command in this process and say how it ended."""

    def run(*arguments: str | Path) -> Said:
        from headscope.cli import main

        monkeypatch.setattr(sys, "argv", ["headscope", *map(str, arguments)])
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        return Said(code, *capfd.readouterr())

    return run


@pytest.fixture(autouse=True)
def _no_role_stays() -> Iterator[None]:
    """What a test registers as a role of its own is gone after it: other runs would ask for it."""
    known = {name: ROLES[name] for name in ROLES}
    yield
    if len(ROLES) != len(known):
        ROLES._units.clear()
        ROLES._units.update(known)


def _folder(variable: str, name: str) -> Path:
    folder = Path(os.environ.get(variable, _BESIDE / name))
    if not folder.is_dir():
        pytest.skip(f"no {name} at {folder}; set {variable}")
    return folder


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of real data sets: HEADSCOPE_DATA, else beside the repository."""
    return _folder("HEADSCOPE_DATA", "data")


@pytest.fixture(scope="session")
def real_models() -> Path:
    """The folder of small real models: HEADSCOPE_MODELS, else beside the repository."""
    return _folder("HEADSCOPE_MODELS", "models")


@pytest.fixture(scope="session")
def planted_bert() -> LoadedModel:
    """The model whose heads are set by hand, loaded."""
    return planted()


@pytest.fixture(scope="session")
def planted_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The planted model as a folder that `load` and the command line take."""
    folder = tmp_path_factory.mktemp("models") / "planted"
    model = planted()
    model.model.save_pretrained(folder)
    model.tokenizer.save_pretrained(folder)
    return folder
