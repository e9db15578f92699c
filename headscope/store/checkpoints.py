"""The finished shards of an unfinished run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from headscope.errors import RunError
from headscope.store.durable import write_durably
from headscope.store.tensors import Arrays, DamagedError, decode, encode

_NAME = re.compile(r"shard-(\d{5,})\.safetensors")


class Checkpoints:
    """One file per finished shard, whole or absent; a damaged one counts as absent."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, index: int) -> Path:
        """The file of a shard.

        >>> Checkpoints(Path("run")).path(3).name
        'shard-00003.safetensors'
        """
        if index < 0:
            raise ValueError(f"shards count from 0, found {index}")
        return self.folder / f"shard-{index:05d}.safetensors"

    def save(
        self, index: int, arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, Any]
    ) -> None:
        """Write a shard; once this returns it survives a crash."""
        content = encode(arrays, {"shard": index, "metadata": dict(metadata)})
        self.folder.mkdir(exist_ok=True)
        write_durably(self.path(index), content)

    def load(self, index: int) -> tuple[Arrays, dict[str, Any]]:
        """The arrays and metadata of a shard."""
        path = self.path(index)
        try:
            arrays, described = decode(path.read_bytes())
        except FileNotFoundError:
            raise RunError(f"{path} is missing; shard {index} is not finished") from None
        except DamagedError as error:
            raise RunError(f"{path} is damaged: {error}") from error
        if described.get("shard") != index:
            raise RunError(f"{path} is damaged: it holds shard {described.get('shard')}")
        metadata: dict[str, Any] = described["metadata"]
        return arrays, metadata

    def finished(self) -> tuple[set[int], list[str]]:
        """The shards that are whole, and a note for each that is not; those are removed."""
        whole: set[int] = set()
        notes: list[str] = []
        for index in self._listed():
            try:
                self.load(index)
                whole.add(index)
            except RunError:
                self.path(index).unlink(missing_ok=True)
                notes.append(f"the checkpoint of shard {index} was damaged and is computed again")
        return whole, notes

    def any(self) -> bool:
        """Whether any shard was ever saved."""
        return bool(self._listed())

    def _listed(self) -> list[int]:
        if not self.folder.is_dir():
            return []
        matches = (_NAME.fullmatch(path.name) for path in self.folder.iterdir())
        return sorted(int(match[1]) for match in matches if match)
