"""A classifier in which exactly one head carries the label.

The planted BERT of `tests.planted`, whose heads attend to known tokens, with one change: what head
2-3 (`next`, in the last layer) sees from [CLS], the first word, is written into the hidden state,
and the classifier reads nothing else. Every text has one "cat" and one "dog"; the label is the one
that stands first. Whoever takes the head its attention, by zeroing it or by letting it look
everywhere alike, takes the label.
"""

from __future__ import annotations

from pathlib import Path

import torch
from transformers import BertForSequenceClassification

from headscope.types import HeadId
from tests.planted import HEADS, VOCABULARY, planted_model, planted_tokenizer

CARRIER = HeadId(1, HEADS.index("next"))
TEXTS = (
    ("cat saw the dog", "cat"),
    ("dog saw the cat", "dog"),
    ("cat sat under the big dog", "cat"),
    ("dog sat under the big cat", "dog"),
    ("cat ran and the old dog ate", "cat"),
    ("dog ran and the old cat ate", "dog"),
    ("cat sees a small red bird , not the dog", "cat"),
    ("dog sees a small red bird , not the cat", "dog"),
)


def label_model() -> BertForSequenceClassification:
    """The model, in evaluation mode."""
    body = planted_model()
    config = body.config
    config.num_labels = 2
    config.id2label, config.label2id = {0: "dog", 1: "cat"}, {"dog": 0, "cat": 1}
    model = BertForSequenceClassification(config).eval()
    width, free = config.hidden_size, 100
    with torch.no_grad():
        model.bert.load_state_dict(body.state_dict())
        dense = model.bert.encoder.layer[CARRIER.layer].attention.output.dense
        start = CARRIER.head * (width // len(HEADS))
        for word, sign in (("cat", 1.0), ("dog", -1.0)):
            dense.weight[free, start + VOCABULARY.index(word)] = sign
            # a mirror keeps the mean of the hidden state 0, so that LayerNorm moves nothing
            dense.weight[width // 2 + free, start + VOCABULARY.index(word)] = -sign
        for parameter in (*model.bert.pooler.parameters(), *model.classifier.parameters()):
            parameter.zero_()
        model.bert.pooler.dense.weight[0, free] = 1.0
        model.classifier.weight[1, 0] = 1.0
        model.classifier.bias[0] = 0.1
    return model


def save_label_model(folder: Path) -> Path:
    """The model as a folder that `load` and the command line take."""
    label_model().save_pretrained(folder)
    planted_tokenizer().save_pretrained(folder)
    return folder


def save_label_data(folder: Path) -> Path:
    """The texts as `train.csv` and `dev.csv`."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = "".join(f'"{text}",{label}\n' for text, label in TEXTS)
    for part in ("train", "dev"):
        (folder / f"{part}.csv").write_text(f"text,label\n{rows}", encoding="utf-8")
    return folder
