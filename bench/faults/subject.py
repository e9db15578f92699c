"""Tiny inputs for every verb: what matters here is where a command dies, not what it finds."""

from __future__ import annotations

import random
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import torch
from transformers import BertConfig, BertForSequenceClassification

from tests.planted import VOCABULARY, planted_tokenizer


@dataclass(frozen=True)
class Subject:
    """A model, a corpus with all annotations, labelled texts, and a finished run."""

    folder: Path

    @property
    def model(self) -> Path:
        return self.folder / "model"

    @property
    def corpus(self) -> Path:
        return self.folder / "corpus.conllu"

    @property
    def labelled(self) -> Path:
        return self.folder / "labelled"

    @property
    def task(self) -> Path:
        return self.folder / "probing.txt"

    @property
    def run(self) -> Path:
        return self.folder / "run"


def write_subject(folder: Path) -> Subject:
    """Everything but the finished run, which `analyze` makes."""
    subject = Subject(folder)
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    tokenizer = planted_tokenizer()
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=16, max_position_embeddings=64, pad_token_id=0, num_labels=2,
        initializer_range=0.5, id2label={0: "even", 1: "odd"}, label2id={"even": 0, "odd": 1},
    )  # fmt: skip
    BertForSequenceClassification(config).save_pretrained(subject.model)
    tokenizer.save_pretrained(subject.model)
    shipped = files("headscope.corpora.shipped")
    name = next(e for e in sorted(shipped.iterdir(), key=str) if e.name.endswith(".conllu"))
    blocks = name.read_text(encoding="utf-8").strip().split("\n\n")[:40]
    subject.corpus.write_text("\n\n".join(blocks) + "\n\n", encoding="utf-8")
    rng = random.Random(0)
    words = [w for w in VOCABULARY if w.isalpha() and len(w) > 1]

    def row() -> tuple[str, str]:
        text = " ".join(rng.choices(words, k=rng.randint(3, 9)))
        return text, "odd" if len(text.split()) % 2 else "even"

    subject.labelled.mkdir(exist_ok=True)
    for part, n in (("train", 96), ("dev", 24)):
        lines = ["text\tlabel", *("\t".join(row()) for _ in range(n))]
        (subject.labelled / f"{part}.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    parts = [("tr", 60), ("va", 20), ("te", 20)]
    rows = [
        f"{part}\t{label}\t{text}" for part, n in parts for text, label in (row() for _ in range(n))
    ]
    subject.task.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return subject
