"""Small studies of the planted model, whose heads are known exactly."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from headscope.studies.reading import StudyFile, Wishes, read_study

SENTENCES = [
    "the cat sat on the mat .",
    "a dog saw the bird , and it ran .",
    "she sees the old house .",
    "who ate the red mouse ?",
    "the big tree is not small .",
    "he saw her and she saw his dog .",
    "the small bird sat under the tree .",
    "a mouse ran and the cat ran .",
]

STUDY = """
version = 1
name = "planted"
title = "A planted model"

[models]
main = "{model}"

[corpora.texts]
files = ["texts.txt"]

[steps.look]
do = "analyze"
model = "main"
corpus = "texts"
measures = ["surface", "entropy", "sieve"]
shard_size = 2

[steps.roles]
do = "roles"
run = "look"
tau = 2.0

[[show]]
paper = "Figure 2"
title = "Where heads look"
said = "Heads look at [SEP]."
steps = ["look"]
figures = ["surface_by_layer"]
sql = "select target, max(mean) as most from surface where target = 'sep' group by target"
published = {{ columns = ["target", "in the paper"], rows = [["sep", 0.5], ["cls", 0.25]] }}

[[claims]]
claim = "neighbour_heads"
steps = ["look"]

[[claims]]
claim = "resting_does_not_matter"
steps = ["look"]

[scale.small.limits]
sequences = 4
"""


@pytest.fixture
def data_folder(tmp_path: Path) -> Path:
    """A data folder with one file of sentences."""
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "texts.txt").write_text("\n".join(SENTENCES) + "\n", encoding="utf-8")
    return folder


@pytest.fixture
def study_text(planted_folder: Path) -> str:
    """A study of the planted model."""
    return STUDY.format(model=planted_folder)


@pytest.fixture
def read(study_text: str) -> Callable[..., StudyFile]:
    """Read the study, with some of its text replaced."""

    def reading(*changes: tuple[str, str], wishes: Wishes | None = None) -> StudyFile:
        text = study_text
        for old, new in changes:
            assert old in text, old
            text = text.replace(old, new)
        return read_study("study.toml", text, wishes)

    return reading
