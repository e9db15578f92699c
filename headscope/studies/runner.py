"""Carrying a plan out: what is missing is done, what was begun goes on, what is done stays."""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.errors import HeadscopeError, RunError
from headscope.store.durable import explained, write_durably
from headscope.store.lock import LOCK, OWNER, RunLock
from headscope.studies.estimate import machine_speed, people_seconds, seconds_of
from headscope.studies.plan import Plan, Planned
from headscope.studies.step import Job

if TYPE_CHECKING:
    from headscope.engine import Progress
    from headscope.engine.executor import Executor
    from headscope.models import LoadedModel

STUDY = "study.json"


@dataclass(frozen=True)
class Done:
    """How a step ended: what it left, or why it could not be carried out."""

    planned: Planned
    result: Mapping[str, Any]
    seconds: float = 0.0
    reused: bool = False
    refused: str = ""


@dataclass(frozen=True)
class Outcome:
    """A study that has ended: where its runs and models lie."""

    plan: Plan
    output: Path
    done: Mapping[str, Done]
    runs: Mapping[str, Path]
    models: Mapping[str, str] = field(default_factory=dict)


def check_output(output: Path, study: str) -> None:
    """Refuse at once a folder that is not this study's."""
    folder = output.expanduser()
    if folder.exists() and not folder.is_dir():
        raise RunError(f"{output} is a file; choose another -o")
    if not folder.is_dir():
        return
    record = folder / STUDY
    if record.is_file():
        try:
            other = json.loads(record.read_text(encoding="utf-8")).get("study")
        except (OSError, ValueError) as error:
            raise RunError(f"{record} cannot be read: {error}") from None
        if other != study:
            raise RunError(f"{output} holds the study {other!r}; choose another -o for {study!r}")
        return
    others = sorted(p.name for p in folder.iterdir() if p.name not in (LOCK, OWNER))
    if others:
        raise RunError(f"{output} is not empty and no study (it has {others[0]}); choose another")


class _Models:
    """The models that steps ask for; the last two stay loaded, as steps go in order of models."""

    def __init__(self, plan: Plan, device: str = "auto") -> None:
        self.plan, self.device = plan, device
        self.sources: dict[str, str] = {}
        self._kept: dict[tuple[str, str], LoadedModel] = {}

    def load(self, name: str, head: str = "base") -> LoadedModel:
        """A model or a fine-tuned one by its name in the study."""
        from headscope.models import load

        if (name, head) not in self._kept:
            while len(self._kept) > 1:
                del self._kept[next(iter(self._kept))]
            gc.collect()
            tuned = name in self.sources
            source = self.sources[name] if tuned else self.plan.room.sources[name][0]
            loaded = load(source, head=head, device=self.device)  # type: ignore[arg-type]
            self._kept[name, head] = replace(loaded, name=name) if tuned else loaded
        return self._kept[name, head]

    def forget(self) -> None:
        self._kept.clear()
        gc.collect()


def carry_out(
    plan: Plan,
    output: Path,
    *,
    progress: Progress | None = None,
    say: Callable[[str], None] = lambda line: None,
    executor: Executor | None = None,
    device: str = "auto",
) -> Outcome:
    """Do what is missing of a plan, in its order, passes on the given engine.

    A step that was finished with the same fingerprint is taken as it is; one that was begun goes
    on where it stopped. After an error or a kill the same call goes on from there.
    """
    from headscope.engine import Silent

    check_output(output, plan.file.document.name)
    progress = progress or Silent()
    with explained("write", output):
        (output / "done").mkdir(parents=True, exist_ok=True)
    with RunLock(output):
        told = {"study": plan.file.document.name, "source": plan.file.source}
        write_durably(output / STUDY, (json.dumps(told, indent=2) + "\n").encode())
        return _carry_out(plan, output, progress, say, _Models(plan, device), executor)


def _carry_out(
    plan: Plan,
    output: Path,
    progress: Progress,
    say: Callable[[str], None],
    models: _Models,
    executor: Executor | None,
) -> Outcome:
    runs: dict[str, Path] = {}
    done: dict[str, Done] = {}
    n = len(plan.steps)
    for i, one in enumerate(plan.steps, 1):
        title = f"[{i}/{n}] {one.name}"
        lost = [name for name in one.needs if done[name].refused]
        if lost:
            reason = f"it needs {lost[0]}, which could not be done"
            done[one.name] = Done(one, {}, refused=reason)
            say(f"{title}: left out, {reason}")
            continue
        found = one.done(output)
        if one.step.adds_to is not None and not done[one.step.adds_to].reused:
            found = None  # what it was added to is new
        if found is not None:
            done[one.name] = Done(one, found["result"], found["seconds"], reused=True)
            say(f"{title}: done before ({people_seconds(found['seconds'])})")
        else:
            say(f"{title}: {one.step.kind} …")
            done[one.name] = ended = _one(plan, one, output, models, runs, progress, executor)
            if ended.refused:
                say(f"{title}: left out, {ended.refused}")
                continue
            say(f"{title}: {people_seconds(ended.seconds)}")
        _remember(plan, one, output, models, runs)
    models.forget()
    return Outcome(plan, output, done, runs, models.sources)


def _one(
    plan: Plan,
    one: Planned,
    output: Path,
    models: _Models,
    runs: Mapping[str, Path],
    progress: Progress,
    executor: Executor | None,
) -> Done:
    folder, started = one.folder(output), time.monotonic()
    resumed = folder.is_dir()
    folder.parent.mkdir(parents=True, exist_ok=True)
    instead = one.step.instead(plan.room)
    result: Mapping[str, Any] = {}
    if instead is None:
        job = Job(
            one.name, folder, plan.room, progress, models.sources, runs, models.load, executor,
            models.device,
        )  # fmt: skip
        try:
            result = one.step.carry_out(job)
        except HeadscopeError as error:
            if not one.step.optional:
                raise
            return Done(one, {}, refused=str(error))
    seconds = time.monotonic() - started
    mark = {
        "step": one.name,
        "fingerprint": one.fingerprint,
        "instead": instead,
        "result": result,
        "seconds": round(seconds, 2),
        "estimate": round(seconds_of(one.cost, machine_speed()), 2),
        "resumed": resumed,
    }
    text = json.dumps(mark, indent=2, ensure_ascii=False) + "\n"
    write_durably(one.mark(output), text.encode())
    return Done(one, result, seconds)


def _remember(
    plan: Plan, one: Planned, output: Path, models: _Models, runs: dict[str, Path]
) -> None:
    """Where the run and the models of a finished step lie."""
    folder = one.folder(output)
    if one.step.adds_to is not None:
        runs[one.name] = runs[one.step.adds_to]
        return
    if (run := one.step.made_run(folder)) is not None:
        runs[one.name] = run
    instead = one.step.instead(plan.room)
    if instead is not None:
        models.sources[one.name] = instead
        return
    for which, path in one.step.made_models(folder).items():
        models.sources[f"{one.name}:{which}" if which else one.name] = str(path)
