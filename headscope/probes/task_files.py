"""Tasks for probes from files: SentEval's format, tables with a label, GLUE's folders."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np

from headscope.corpora import Source
from headscope.corpora.checks import check_text
from headscope.errors import UsageError
from headscope.probes.probe_task import (
    PARTS,
    TEST,
    TRAIN,
    VALIDATION,
    LabelledText,
    ProbeTask,
    classification,
    drawn_parts,
    regression,
)
from headscope.tasks import DataOptions, PartSource, Task, find_part, find_task
from headscope.tasks.classification import Classification
from headscope.tasks.labelled_rows import labelled_rows
from headscope.tasks.regression import Regression
from headscope.types import Sequence

#: What SentEval writes in front of every row.
_SENTEVAL: Final = {"tr": TRAIN, "va": VALIDATION, "te": TEST}
_MAX_CHARACTERS = 65536


def read_task(
    name: str,
    *,
    data: Path | None = None,
    options: DataOptions | None = None,
    numbers: bool = False,
    seed: int = 0,
) -> ProbeTask:
    """A task by a file's path, or by the name of a known one whose folder is in `data`.

    A file is in SentEval's format (`tr`, `va` or `te`, label and sentence, tab-separated), or a
    table with a header (TSV, CSV, JSON, JSONL) whose columns are named or usual; a table's rows
    are divided at random, 80/10/10. Of a known task the dev file is the test part: its validation
    scores come from folds of train.
    """
    options = options or DataOptions()
    path = Path(name).expanduser()
    if path.is_file():
        source = Source(path)
        if is_senteval(source):
            return _senteval(source, numbers)
        return _table(source, options, numbers, seed)
    if path.suffix or "/" in name:
        source = Source(path)
        raise source.error("no such file", "a file of labelled texts, or the name of a task")
    task = find_task(name)
    if not isinstance(task, Classification | Regression):
        raise UsageError(f"{task.title} has no label per text; probes need one")
    if data is None:
        raise UsageError(f"no data for {task.title}; expected --data DIR")
    return known_task(task, data, options)


def known_task(
    task: Task, data: Path, options: DataOptions, *, train: Path | None = None
) -> ProbeTask:
    """GLUE's single sentences and pairs, and their like."""
    rows: list[LabelledText] = []
    files: list[str] = []
    prints: list[str] = []
    chosen: Task = task
    for name, part in (("train", TRAIN), ("dev", TEST)):
        source = find_part(data, "train" if name == "train" else "dev", task.title)
        if part == TRAIN:
            chosen = chosen.learnt(source, options)
        split = chosen.read(
            source,
            options
            if part == TRAIN
            else DataOptions(
                text_column=options.text_column,
                pair_column=options.pair_column,
                label_column=options.label_column,
            ),
        )
        rows += [LabelledText(e.sequence, str(e.gold), part) for e in split.examples]
        files += split.files
        prints.append(split.fingerprint)
    make = regression if isinstance(chosen, Regression) else classification
    # the paper chooses by accuracy, and by Pearson's correlation (appendix A.3)
    first = ("accuracy",) if isinstance(chosen, Classification) else ("pearson",)
    metrics = tuple(dict.fromkeys((*first, *task.metrics)))
    return make(task.title, rows, "/".join(prints), metrics=metrics, files=tuple(files))


def is_senteval(source: Source) -> bool:
    """Whether the first line is a part, a label and a sentence."""
    first = source.head(1)
    cells = first[0].split("\t") if first else []
    return len(cells) == 3 and cells[0] in _SENTEVAL


def _senteval(source: Source, numbers: bool) -> ProbeTask:
    rows = list(_senteval_rows(source))
    make = regression if numbers else classification
    return make(source.stem, rows, source.sha256(), files=(source.name,))


def _senteval_rows(source: Source) -> Iterator[LabelledText]:
    number = 0
    for line, text in source.lines():
        if not text.strip():
            continue
        cells = text.split("\t")
        if len(cells) != 3:
            found = f"{len(cells)} columns"
            raise source.error(found, "3: tr, va or te, label and sentence", line)
        part, label, sentence = (cell.strip() for cell in cells)
        if part not in _SENTEVAL:
            raise source.error(f"the part {part!r}", "tr, va or te", line)
        if not label:
            raise source.error("no label", "a label in every row", line)
        number += 1
        sequence = Sequence(f"{source.stem}:{number}", sentence, source=source.name, line=line)
        check_text(sequence, _MAX_CHARACTERS)
        yield LabelledText(sequence, label, _SENTEVAL[part])


def _table(source: Source, options: DataOptions, numbers: bool, seed: int) -> ProbeTask:
    found = list(labelled_rows(PartSource("train", source), options))
    parts = drawn_parts(len(found), seed) if found else np.zeros(0, np.int8)
    if len(found) < 10:
        raise source.error(f"{len(found)} rows", f"at least 10 to divide into {', '.join(PARTS)}")
    rows = [
        LabelledText(sequence, str(label), int(part))
        for (sequence, label, _), part in zip(found, parts, strict=True)
    ]
    make = regression if numbers else classification
    print_ = f"{source.sha256()}/{options.model_dump_json()}/{seed}"
    return make(source.stem, rows, print_, files=(source.name,))
