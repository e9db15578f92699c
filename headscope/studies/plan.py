"""A study as a graph of steps, in an order that works, with what each will take."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

from headscope.errors import UsageError
from headscope.figures import FIGURES
from headscope.studies.claim import CLAIMS
from headscope.studies.reading import StudyFile, checked
from headscope.studies.room import Room, digest
from headscope.studies.shape import Shape
from headscope.studies.step import STEPS, At, Cost, Step
from headscope.version import RUN_FORMAT, __version__


@dataclass(frozen=True)
class Planned:
    """A step in its place: what it is, where it goes, and what it will take."""

    name: str
    step: Step
    at: At
    needs: tuple[str, ...]
    fingerprint: str
    cost: Cost
    #: The folder of the step it adds to, where it adds to one.
    onto: str = ""

    @property
    def label(self) -> str:
        return self.step.label or self.name

    def folder(self, output: Path) -> Path:
        """Its own folder; other parameters, other files or other models give another one."""
        short = self.fingerprint[:8]
        if self.step.kind == "finetune":
            return output / "models" / short / self.name
        return output / "runs" / (self.onto or f"{self.name}-{short}")

    def mark(self, output: Path) -> Path:
        """The file that says that it is done.

        What adds to another's run has one mark there, whatever its parameters: the last one counts.
        """
        own = f"{self.name}-{self.fingerprint[:8]}"
        name = f"{self.onto}.{self.step.kind}" if self.onto else own
        return output / "done" / f"{name}.json"

    def done(self, output: Path) -> Mapping[str, Any] | None:
        """What it left when it was finished; None if it is not."""
        mark = self.mark(output)
        if not mark.is_file():
            return None
        try:
            told: dict[str, Any] = json.loads(mark.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        if told.get("fingerprint") != self.fingerprint:
            return None
        own = self.step.adds_to is None and not told.get("instead")
        return told if not own or self.folder(output).is_dir() else None


@dataclass(frozen=True)
class Plan:
    """All steps of a study in an order that works."""

    file: StudyFile
    room: Room
    steps: tuple[Planned, ...]
    left_out: Mapping[str, str]

    def __getitem__(self, name: str) -> Planned:
        return next(one for one in self.steps if one.name == name)


def make_plan(file: StudyFile, data: Path | None = None) -> Plan:
    """Everything that can be wrong is found here, and nothing is written.

    Files are read as far as their checks need; models are found, not loaded.
    """
    room = Room(file, data)
    steps, places = _steps(file)
    left_out = _left_out(file, steps)
    chosen = {name: step for name, step in steps.items() if name not in left_out}
    order = _ordered(file, chosen, places)
    room.sources  # noqa: B018 - a model that cannot be had is refused here
    _check_shown(file, steps)
    for name in order:
        for field, corpus in chosen[name].corpora().items():
            room.corpus_part(corpus, (*places[name], field))
        chosen[name].check(room, places[name])
        for corpus in chosen[name].corpora().values():
            room.corpus(corpus)
    prints: dict[str, str] = {}
    shapes: dict[str, Shape] = {}
    planned = []
    for name in order:
        step, at = chosen[name], places[name]
        prints[name] = _fingerprint(room, step, at, prints)
        own = {f: _shape(room, m, shapes) for f, m in step.models().items()}
        if own:
            shapes[name] = next(iter(own.values()))
        needs = tuple(n for n in _needs(step) if n in chosen)
        target = step.adds_to
        onto = "" if target is None else f"{target}-{prints[target][:8]}"
        cost = step.cost(room, own, at)
        planned.append(Planned(name, step, at, needs, prints[name], cost, onto))
    return Plan(file, room, tuple(planned), left_out)


def _steps(file: StudyFile) -> tuple[dict[str, Step], dict[str, At]]:
    """Every fine-tuning and every step, checked field by field."""
    document = file.document
    steps: dict[str, Step] = {}
    places: dict[str, At] = {}
    for name, fields in document.finetunings.items():
        at: At = ("finetunings", name)
        if name in document.models:
            file.refuse(at, f"the name {name!r}, which a model has", "another name")
        steps[name] = checked(STEPS["finetune"], fields, file.source, file.text, at)
        places[name] = at
    for name, fields in document.steps.items():
        at = ("steps", name)
        if name in steps:
            file.refuse(at, f"the name {name!r}, which a fine-tuning has", "another name")
        kind = fields.get("do")
        known = [k for k in STEPS if k != "finetune"]
        if kind not in known:
            found = "no do" if kind is None else f"the step {kind!r}"
            file.refuse((*at, "do"), found, f"one of {', '.join(known)}")
        steps[name] = checked(STEPS[kind], fields, file.source, file.text, at)
        places[name] = at
    if not steps:
        file.refuse((), "no step", "at least one [steps.NAME]")
    return steps, places


def _needs(step: Step) -> list[str]:
    """The names of the steps a step waits for; models of [models] are none."""
    listed = [name for names in step.steps().values() for name in names]
    return list(dict.fromkeys([*listed, *(m.partition(":")[0] for m in step.models().values())]))


def _left_out(file: StudyFile, steps: Mapping[str, Step]) -> dict[str, str]:
    """Steps that are not wanted, and those that cannot do without them."""
    left = dict.fromkeys(file.wishes.without, "left out with --without")
    grew = True
    while grew:
        grew = False
        for name, step in steps.items():
            lost = [n for n in _needs(step) if n in left]
            if lost and name not in left:
                left[name] = f"it needs {lost[0]}"
                grew = True
    if len(left) == len(steps):
        raise UsageError("--without: no step is left")
    return left


def _ordered(
    file: StudyFile, steps: Mapping[str, Step], places: Mapping[str, At]
) -> tuple[str, ...]:
    graph: dict[str, list[str]] = {}
    added: dict[tuple[str, str], str] = {}
    models = file.document.models
    for name, step in steps.items():
        for field, listed in step.steps().items():
            for other in listed:
                if other not in steps or steps[other].made_run(Path()) is None:
                    known = ", ".join(n for n in steps if n != name) or "none"
                    file.refuse(
                        (*places[name], field), f"the step {other!r}", f"one of [steps]: {known}"
                    )
        for field, model in step.models().items():
            base, _, which = model.partition(":")
            made = steps[base].made_models(Path()) if base in steps else {}
            if model not in models and which not in made:
                listed = [*models, *(n for n, s in steps.items() if s.made_models(Path()))]
                place = (*places[name], *field.split("."))
                file.refuse(place, f"the model {model!r}", f"one of [models]: {', '.join(listed)}")
        graph[name] = [n for n in _needs(step) if n in steps]
        if (target := step.adds_to) is not None:
            twin = added.setdefault((step.kind, target), name)
            if twin != name:
                found = f"a second {step.kind} of {target!r}, after {twin!r}"
                file.refuse(places[name], found, "one, as they would replace each other")
    for name, step in steps.items():
        # whoever reads a run reads it after what others add to it
        if step.adds_to is None:
            for other, adds in steps.items():
                if adds.adds_to is not None and adds.adds_to in graph[name] and other != name:
                    graph[name].append(other)
    try:
        return _in_file_order(graph)
    except CycleError as error:
        circle = list(reversed(error.args[1]))
        file.refuse(places[circle[0]], f"a cycle: {' → '.join(circle)}", "steps in some order")


def _in_file_order(graph: Mapping[str, list[str]]) -> tuple[str, ...]:
    """A topological order that keeps to the order of the file where it can."""
    sorter = TopologicalSorter(graph)
    sorter.prepare()
    rank = {name: i for i, name in enumerate(graph)}
    order: list[str] = []
    ready: list[str] = []
    while sorter.is_active():
        ready = sorted([*ready, *sorter.get_ready()], key=rank.__getitem__)
        first = ready.pop(0)
        order.append(first)
        sorter.done(first)
    return tuple(order)


def _check_shown(file: StudyFile, steps: Mapping[str, Step]) -> None:
    """Figures, claims and the steps they are about must be known."""
    document = file.document
    for i, show in enumerate(document.show):
        _check_steps(file, ("show", i, "steps"), show.steps, steps)
        if show.sql is not None and (trouble := _not_sql(show.sql)):
            file.refuse(("show", i, "sql"), trouble, "one SELECT in DuckDB's SQL")
        for figure in show.figures:
            if figure not in FIGURES:
                known = ", ".join(FIGURES)
                file.refuse(("show", i, "figures"), f"the figure {figure!r}", f"one of {known}")
    for i, asked in enumerate(document.claims):
        _check_steps(file, ("claims", i, "steps"), asked.steps, steps)
        if asked.claim not in CLAIMS:
            known = ", ".join(CLAIMS)
            file.refuse(("claims", i, "claim"), f"the claim {asked.claim!r}", f"one of {known}")
        unknown = set(asked.options) - set(CLAIMS[asked.claim].options)
        if unknown:
            known = ", ".join(CLAIMS[asked.claim].options) or "none"
            file.refuse(("claims", i, "options"), f"the option {min(unknown)!r}", f"one of {known}")


def _not_sql(sql: str) -> str:
    """What is wrong with a query's grammar; "" if nothing is. Tables are known only at the end."""
    import duckdb

    try:
        n = len(duckdb.extract_statements(sql))
    except duckdb.Error as error:
        return str(error).splitlines()[0]
    return "" if n == 1 else f"{n} statements"


def _check_steps(file: StudyFile, at: At, listed: list[str], steps: Mapping[str, Step]) -> None:
    for name in listed:
        if name not in steps or steps[name].made_run(Path()) is None:
            known = ", ".join(n for n, s in steps.items() if s.made_run(Path()) is not None)
            file.refuse(at, f"the step {name!r}", f"one of [steps]: {known}")


def _fingerprint(room: Room, step: Step, at: At, prints: Mapping[str, str]) -> str:
    """Of all that decides a step's result: its parameters, its files, its models, its steps."""
    models = {}
    for field, model in step.models().items():
        base, _, which = model.partition(":")
        known = [prints[base], which] if base in prints else room.model_identity(model)
        models[field] = known
    return digest(
        {
            "version": [__version__, RUN_FORMAT],
            "kind": step.kind,
            "models": models,
            "steps": {f: [prints[n] for n in names] for f, names in step.steps().items()},
            "asked": step.identity(room, at),
        }
    )


def _shape(room: Room, model: str, shapes: Mapping[str, Shape]) -> Shape:
    base = model.partition(":")[0]
    return shapes[base] if base in shapes else room.shape(model)
