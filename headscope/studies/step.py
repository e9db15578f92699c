"""A step of a study: what it needs, what is wrong with it, what it costs, and its doing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from headscope.registry import Registry
from headscope.store import Run, open_run
from headscope.studies.document import Part
from headscope.studies.room import Room
from headscope.studies.shape import Shape

if TYPE_CHECKING:
    from headscope.engine import Progress
    from headscope.engine.executor import Executor
    from headscope.models import LoadedModel

At = tuple[str | int, ...]


@dataclass(frozen=True)
class Cost:
    """What a step will take: arithmetic, time that is not arithmetic, and disk.

    >>> Cost(2e9, 1.0, 3) + Cost(1e9)
    Cost(flops=3000000000.0, seconds=1.0, n_bytes=3)
    """

    flops: float = 0.0
    seconds: float = 0.0
    n_bytes: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.flops + other.flops, self.seconds + other.seconds, self.n_bytes + other.n_bytes
        )


@dataclass(frozen=True)
class Job:
    """What a step is given when its turn comes.

    `folder` is its own; `models` and `runs` say where the earlier steps' lie. `load` takes a name
    of the study, of a model or of a fine-tuning. Passes run on `executor`, the local one if None.
    """

    name: str
    folder: Path
    room: Room
    progress: Progress
    models: Mapping[str, str]
    runs: Mapping[str, Path]
    load: Callable[..., LoadedModel]
    executor: Executor | None = None
    device: str = "auto"

    @property
    def begun(self) -> bool:
        """Whether there is something to go on with."""
        return self.folder.is_dir() and any(self.folder.iterdir())

    def run(self, step: str) -> Run:
        """The finished run of an earlier step."""
        return open_run(self.runs[step])

    def source(self, model: str) -> str:
        """A model of the study as the engine takes it: a hub name or a folder."""
        if model in self.models:
            return self.models[model]
        return self.room.sources[model][0]


class Step(Part, ABC):
    """One entry of a study's `steps`, or of its `finetunings`.

    `adds_to` names the step whose run a step adds tables to; other steps have a folder of their
    own. A step that is `optional` may find that it cannot be done for a model (no head, nothing to
    measure); the study then goes on without it and says why.
    """

    kind: ClassVar[str]
    do: str = ""
    label: str = Field("", description="for people, where several steps stand side by side")
    optional: bool = False

    @abstractmethod
    def models(self) -> Mapping[str, str]:
        """The models it reads, by field: of [models], or fine-tunings."""

    def corpora(self) -> Mapping[str, str]:
        """The corpora it reads, by field."""
        return {}

    def steps(self) -> Mapping[str, list[str]]:
        """The steps whose runs it reads, by field."""
        return {}

    @property
    def adds_to(self) -> str | None:
        return None

    def check(self, room: Room, at: At) -> None:
        """Refuse, before any work, what cannot be done; `at` is its place in the file."""

    @abstractmethod
    def identity(self, room: Room, at: At) -> Mapping[str, Any]:
        """What decides its result beside the steps and models it reads, limits applied."""

    @abstractmethod
    def cost(self, room: Room, shapes: Mapping[str, Shape], at: At) -> Cost:
        """About what it takes; `shapes` are those of its models, by field."""

    @abstractmethod
    def carry_out(self, job: Job) -> Mapping[str, Any]:
        """Do it, or go on with it; what it returns is kept with the mark that it is done."""

    def made_run(self, folder: Path) -> Path | None:
        """Where the run lies that it makes, if it makes one."""
        return folder

    def made_models(self, folder: Path) -> Mapping[str, Path]:
        """Where the models lie that it makes, by what follows a colon after its name."""
        return {}

    def instead(self, room: Room) -> str | None:
        """A model that is there already, so that the step need not be carried out."""
        return None


STEPS: Registry[type[Step]] = Registry("step", "headscope.studies.kinds")
