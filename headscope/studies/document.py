"""What a study file may say, and what of it is wrong."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class Part(BaseModel):
    """Read-only, of the exact types, and nothing that is not known."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class CorpusPart(Part):
    """Texts: files below the data folder, the part of a task's data set, or the shipped corpus."""

    files: list[str] = Field(default=[], description="paths below --data; or: shipped")
    task: str | None = Field(None, description="instead of files: a task whose texts are taken")
    part: Literal["train", "dev"] = Field("dev", description="of the task's data set")
    data: str = Field("", description="the data sets' folder, below --data")
    reader: str | None = None
    limit: int | None = Field(None, ge=1, description="the first N sequences")
    sample: int | None = Field(None, ge=1, description="N sequences drawn at random")
    seed: int = Field(0, ge=0)
    annotate: str | None = Field(None, description="such as spacy:en_core_web_sm")
    pair: bool = False
    unit: Literal["auto", "sentence", "document"] = "auto"
    spacing: Literal["single", "original"] = "single"
    text_column: str | None = None
    pair_column: str | None = None
    max_tokens: int | None = Field(None, ge=2, description="longest sequence; longer ones are cut")
    dropped: Literal["refuse", "skip"] = Field("skip", description="texts with words of no token")


class Published(Part):
    """A table of the paper; its first column says which of our rows a row stands beside."""

    columns: list[str] = Field(min_length=2)
    rows: list[list[str | int | float]]


class Show(Part):
    """A figure or a table of the paper, and what stands beside it here."""

    paper: str = Field(description="such as Figure 2")
    title: str
    said: str = Field("", description="what the paper's figure shows, in one sentence")
    steps: list[str] = Field(min_length=1)
    figures: list[str] = []
    sql: str | None = Field(None, description="one SELECT over the tables of each step's run")
    published: Published | None = None


class ClaimPart(Part):
    """A claim of the paper, asked of the runs of some steps."""

    claim: str
    steps: list[str] = Field(min_length=1)
    options: dict[str, str | int | float] = {}


class Limits(Part):
    """The most that a scale allows, of everything that has such a number."""

    sequences: int | None = Field(None, ge=1, description="of every corpus, drawn at random")
    max_tokens: int | None = Field(None, ge=2, description="of every sequence and every input")
    train_rows: int | None = Field(None, ge=2, description="to learn from")
    rows: int | None = Field(None, ge=2, description="to be tested on")
    epochs: int | None = Field(None, ge=1, description="of fine-tunings and parsing probes")
    seeds: int | None = Field(None, ge=1, description="of fine-tunings that are repeated")


class StudyDocument(Part):
    """A whole study, names of the matrix written out."""

    version: Literal[1]
    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$")
    title: str
    paper: str = ""
    about: str = ""
    absent: list[str] = Field(default=[], description="what of the paper cannot be had")
    matrix: dict[str, list[str]] = {}
    models: dict[str, str] = Field(min_length=1)
    corpora: dict[str, CorpusPart] = {}
    finetunings: dict[str, dict[str, Any]] = {}
    steps: dict[str, dict[str, Any]] = {}
    show: list[Show] = []
    claims: list[ClaimPart] = []
