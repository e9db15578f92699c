"""A task for probes: texts with a label each, in three parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence as SequenceABC
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from headscope.errors import InputError, UsageError
from headscope.types import Sequence

PARTS: Final = ("train", "validation", "test")
TRAIN, VALIDATION, TEST = range(3)
#: More different labels than this are no classes.
MAX_CLASSES = 1000


@dataclass(frozen=True, eq=False)
class ProbeTask:
    """Rows of text with their gold labels: classes by index, or numbers where `classes` is empty.

    `parts[row]` is TRAIN, VALIDATION or TEST. `metrics` name the scores; the first one chooses
    penalties, layers and heads.
    """

    name: str
    sequences: tuple[Sequence, ...]
    gold: NDArray[np.int64] | NDArray[np.float64]
    parts: NDArray[np.int8]
    classes: tuple[str, ...]
    metrics: tuple[str, ...]
    fingerprint: str
    files: tuple[str, ...] = ()

    @property
    def is_regression(self) -> bool:
        return not self.classes

    @property
    def has_pairs(self) -> bool:
        return any(sequence.pair is not None for sequence in self.sequences)

    def rows(self, part: int) -> NDArray[np.int64]:
        """The rows of a part, in order."""
        return np.flatnonzero(self.parts == part)

    @property
    def chance(self) -> float:
        """What always naming the most frequent class of train scores on test; NaN for numbers."""
        if self.is_regression:
            return float("nan")
        train, test = self.gold[self.parts == TRAIN], self.gold[self.parts == TEST]
        return float((test == np.bincount(train.astype(np.int64)).argmax()).mean())


@dataclass(frozen=True, slots=True)
class LabelledText:
    """A row as a file has it."""

    sequence: Sequence
    label: str
    part: int


def classification(
    name: str,
    rows: SequenceABC[LabelledText],
    fingerprint: str,
    *,
    metrics: tuple[str, ...] = ("accuracy",),
    files: tuple[str, ...] = (),
) -> ProbeTask:
    """A task whose labels are classes, checked: what cannot be learnt is refused with its line."""
    check_parts(name, rows)
    train = Counter(row.label for row in rows if row.part == TRAIN)
    classes = tuple(sorted(train))
    if len({row.label for row in rows}) < 2:
        raise _error(name, rows[0], f"one class only ({rows[0].label!r})", "two classes or more")
    if len(classes) > MAX_CLASSES:
        raise _error(name, rows[0], f"{len(classes)} classes", f"at most {MAX_CLASSES}")
    for row in rows:
        if row.label not in train:
            found = f"the class {row.label!r} in {PARTS[row.part]} but not in train"
            raise _error(name, row, found, "classes that train has examples of")
    if len(classes) < 2:
        raise _error(name, rows[0], f"one class only in train ({classes[0]!r})", "two or more")
    index = {label: i for i, label in enumerate(classes)}
    gold = np.array([index[row.label] for row in rows], np.int64)
    return _task(name, rows, gold, classes, metrics, fingerprint, files)


def regression(
    name: str,
    rows: SequenceABC[LabelledText],
    fingerprint: str,
    *,
    metrics: tuple[str, ...] = ("pearson", "spearman"),
    files: tuple[str, ...] = (),
) -> ProbeTask:
    """A task whose labels are numbers."""
    check_parts(name, rows)
    gold = np.empty(len(rows))
    for i, row in enumerate(rows):
        try:
            gold[i] = float(row.label)
        except ValueError:
            raise _error(name, row, f"the label {row.label!r}", "a number") from None
        if not np.isfinite(gold[i]):
            raise _error(name, row, f"the label {row.label!r}", "a finite number")
    for part in (TRAIN, TEST):
        numbers = gold[[row.part == part for row in rows]]
        if np.ptp(numbers) == 0:
            found = f"the same number everywhere in {PARTS[part]} ({numbers[0]:g})"
            raise _error(name, rows[0], found, "numbers that differ")
    return _task(name, rows, gold, (), metrics, fingerprint, files)


def _task(
    name: str,
    rows: SequenceABC[LabelledText],
    gold: NDArray[Any],
    classes: tuple[str, ...],
    metrics: tuple[str, ...],
    fingerprint: str,
    files: tuple[str, ...],
) -> ProbeTask:
    return ProbeTask(
        name=name,
        sequences=tuple(row.sequence for row in rows),
        gold=gold,
        parts=np.array([row.part for row in rows], np.int8),
        classes=classes,
        metrics=metrics,
        fingerprint=fingerprint,
        files=files,
    )


def check_parts(name: str, rows: SequenceABC[LabelledText]) -> None:
    """Refuse a task with nothing to learn from or nothing to be tested on."""
    counts = Counter(row.part for row in rows)
    for part in (TRAIN, TEST):
        if counts[part] < 2:
            where = rows[0].sequence.source if rows else name
            raise InputError(
                where or name,
                found=f"{counts[part]} rows for {PARTS[part]} (task {name})",
                expected="at least two",
            )


def _error(name: str, row: LabelledText, found: str, expected: str) -> InputError:
    source = row.sequence.source or name
    return InputError(source, found=found, expected=expected, line=row.sequence.line or None)


def drawn_parts(n: int, seed: int) -> NDArray[np.int8]:
    """Parts for rows that have none: 80 % train, 10 % validation, 10 % test, drawn at random.

    >>> np.bincount(drawn_parts(20, seed=0)).tolist()
    [16, 2, 2]
    """
    parts = np.zeros(n, np.int8)
    order = np.random.default_rng(seed).permutation(n)
    tenth = max(1, round(n / 10))
    parts[order[:tenth]], parts[order[tenth : 2 * tenth]] = TEST, VALIDATION
    return parts


def thinned(task: ProbeTask, n_train: int | None, seed: int) -> ProbeTask:
    """The same task with at most so many rows of train, drawn at random."""
    train = task.rows(TRAIN)
    if n_train is None or n_train >= len(train):
        return task
    if n_train < 2:
        raise UsageError(f"--train-rows {n_train}: expected at least 2")
    drawn = np.random.default_rng(seed).choice(train, n_train, replace=False)
    keep = np.sort(np.concatenate([drawn, np.flatnonzero(task.parts != TRAIN)]))
    if not task.is_regression:
        missing = set(task.gold[keep].tolist()) - set(task.gold[drawn].tolist())
        if missing:
            name = task.classes[int(min(missing))]
            raise UsageError(
                f"--train-rows {n_train}: no row of the class {name!r} was drawn from the train "
                f"part of {task.name}; draw more"
            )
    return ProbeTask(
        task.name,
        tuple(task.sequences[i] for i in keep),
        task.gold[keep],
        task.parts[keep],
        task.classes,
        task.metrics,
        f"{task.fingerprint}/{n_train}/{seed}",
        task.files,
    )
