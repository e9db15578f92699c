"""Several runs in one page: which may be compared, what they are called, what differs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from headscope.errors import UsageError
from headscope.figures.atlas.plain_text import plain_text
from headscope.figures.atlas.run_heads import ReadOnce, plain_record, shapes_of
from headscope.figures.head_values import HeadValue, read_heads
from headscope.figures.registered import RunLike
from headscope.figures.role_names import looks, read_roles
from headscope.figures.surface_targets import POINTED, target
from headscope.figures.wording import percent, plural
from headscope.types import HeadId


def check_layouts(runs: Sequence[RunLike], names: Sequence[str]) -> None:
    """Heads can be compared place by place only if every run has the same places."""
    first = shapes_of(runs[0])
    for run, name in zip(runs[1:], names[1:], strict=True):
        if shapes_of(run) != first:
            raise UsageError(
                f"runs of different layouts cannot be compared head by head: {names[0]} has "
                f"{_layout(runs[0])}, {name} has {_layout(run)}"
            )


def _layout(run: RunLike) -> str:
    parts = [f"{s.n_layers} layers × {s.n_heads} heads ({s.stack})" for s in shapes_of(run)]
    return ", ".join(parts) or "none"


def run_names(runs: Sequence[RunLike]) -> list[str]:
    """A name per run: its model, and its folder or its number where models are called the same."""
    names = [plain_record(run).get("model", {}).get("name") or "a model" for run in runs]
    names = [plain_text(name, 80) for name in names]
    if len(set(names)) == len(names):
        return names
    paths = [getattr(_inner(run), "path", None) for run in runs]
    folders = [Path(path).name if path is not None else "" for path in paths]
    if all(folders) and len(set(zip(names, folders, strict=True))) == len(names):
        return [f"{n} ({plain_text(f, 60)})" for n, f in zip(names, folders, strict=True)]
    return [f"{name} (run {i})" for i, name in enumerate(names, start=1)]


def _inner(run: RunLike) -> object:
    return run.run if isinstance(run, ReadOnce) else run


def same_corpus(runs: Sequence[RunLike]) -> bool:
    """True if all runs read the same text; a run that does not say counts as different."""
    prints = {plain_record(run).get("corpus", {}).get("fingerprint") for run in runs}
    return len(prints) == 1 and bool(next(iter(prints)))


def differences(runs: Sequence[RunLike], names: Sequence[str]) -> list[str]:
    """What changed from the first run to each other one, in sentences."""
    sentences = []
    for run, name in zip(runs[1:], names[1:], strict=True):
        parts = [part for part in (_roles(runs[0], run), _surface(runs[0], run)) if part]
        if parts:
            sentences.append(f"From {names[0]} to {name}, {'; '.join(parts)}.")
    if not same_corpus(runs):
        sentences.append(
            "The runs did not read the same text, so a difference may come from the text."
        )
    return sentences


def _surface(a: RunLike, b: RunLike) -> str:
    if any("surface" not in run.tables for run in (a, b)):
        return ""
    before = _targets(a)
    moved = [
        (before[key], after)
        for key, after in _targets(b).items()
        if key in before and before[key].known and after.known
    ]
    if not moved:
        return ""
    old, new = max(moved, key=lambda pair: abs(pair[1].value - pair[0].value))
    return (
        f"the largest change in where a head looks is that of {new.head}, whose attention to "
        f"{target(new.what).phrase} went from {percent(old.value)} to {percent(new.value)} "
        f"({(new.value - old.value) * 100:+.1f} points)"
    )


def _targets(run: RunLike) -> dict[tuple[HeadId, str], HeadValue]:
    values = read_heads(run.table("surface"), what="target", value="mean")
    return {(v.head, v.what): v for v in values if v.what in POINTED}


def _roles(a: RunLike, b: RunLike) -> str:
    if any("roles" not in run.tables for run in (a, b)):
        return ""
    before, after = (read_roles(run.table("roles")) for run in (a, b))
    old, new = before.skills(), after.skills()
    gained = sum(bool(set(own) - set(old.get(head, ()))) for head, own in new.items())
    lost = sum(bool(set(own) - set(new.get(head, ()))) for head, own in old.items())
    sets, then = after.sets(), before.sets()
    moved = {role: len(sets[role]) - len(then[role]) for role in sets.keys() & then.keys()}
    text = f"{plural(gained, 'head')} gained a role and {lost or 'none'} lost one"
    if moved and any(moved.values()):
        role = max(sorted(moved), key=lambda name: abs(moved[name]))
        label = looks([role])[0].label
        text += (
            f"; the role {label} went from {len(then[role])} to {plural(len(sets[role]), 'head')}"
        )
    return text
