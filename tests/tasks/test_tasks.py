"""Tasks: their files, what is wrong with them, and what a model is asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional
from transformers import BertConfig, BertForQuestionAnswering, BertForSequenceClassification

from headscope.engine.task_data import read_part
from headscope.errors import InputError, ModelError, UsageError
from headscope.models import load
from headscope.tasks import TASKS, DataOptions, answer, find_part, find_task
from headscope.tasks.questions import best_spans, exact_match, word_f1
from tests.planted import PAD, planted, planted_tokenizer


def _bert(**changes: Any) -> Any:
    torch.manual_seed(0)
    kind = changes.pop("kind", BertForSequenceClassification)
    config = BertConfig(
        vocab_size=40, hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=16, max_position_embeddings=40, pad_token_id=PAD, **changes,
    )  # fmt: skip
    return load(kind(config), planted_tokenizer())


def write(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    return folder


# --- names and files ------------------------------------------------------------------------


def test_tasks_are_found_however_they_are_spelt() -> None:
    assert {find_task(name).name for name in ("SST-2", "sst2", "sst-2", "SST2")} == {"sst2"}
    assert find_task("STS-B").metrics == ("pearson", "spearman")
    assert find_task("MRPC").metrics == ("f1", "accuracy")
    with pytest.raises(UsageError, match="unknown task"):
        find_task("SST-3")


@pytest.mark.parametrize("name", sorted(TASKS))
def test_every_task_scores_its_first_metric_and_the_loss(name: str) -> None:
    task = TASKS[name]
    assert task.all_metrics()[0].name == task.metrics[0]
    assert task.all_metrics()[-1].name == "loss"
    assert task.columns[0] == "loss"


def test_parts_are_found_by_their_names(tmp_path: Path) -> None:
    both = "sentence\tlabel\nthe cat\t1\n"
    write(tmp_path / "SST-2", "train.tsv", both)
    write(tmp_path / "SST-2", "dev.tsv", both)
    for data in (tmp_path, tmp_path / "SST-2"):
        assert find_part(data, "train", "SST-2").source.path.name == "train.tsv"
        assert find_part(data, "dev", "SST-2").source.path.name == "dev.tsv"
    with pytest.raises(UsageError, match=r"no dev file for RTE.*it has train\.tsv"):
        find_part(write(tmp_path / "RTE", "train.tsv", both), "dev", "RTE")
    with pytest.raises(UsageError, match="no such folder"):
        find_part(tmp_path / "nowhere", "dev", "RTE")
    with pytest.raises(UsageError, match="one file"):
        find_part(tmp_path / "SST-2" / "dev.tsv", "dev", "SST-2")


def test_a_draw_is_the_same_every_time(tmp_path: Path) -> None:
    rows = "".join(f"word {i}\t{i % 2}\n" for i in range(50))
    write(tmp_path, "dev.tsv", "sentence\tlabel\n" + rows)
    task = find_task("sst2")
    first, second, other = (
        task.read(find_part(tmp_path, "dev", "SST-2"), DataOptions(rows=10, seed=seed))
        for seed in (0, 0, 1)
    )
    assert first == second
    assert len(first) == 10
    assert first.fingerprint != other.fingerprint
    assert [e.sequence.text for e in first.examples] != [e.sequence.text for e in other.examples]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sentence\tlabel\nthe cat\t2\n", r"dev\.tsv:2: found the label '2'; expected one of 0, 1"),
        ("sentence\tlabel\n", "no examples in the dev split"),
        ("sentence\tname\nthe cat\tx\n", "a column of labels"),
        ("wrong\tlabel\nthe cat\t1\n", "a column 'text' or 'sentence'"),
        ("sentence\tlabel\nthe cat\t\n", r":2: found no label in 'label'"),
        ("sentence\tlabel\n \t1\n", "an empty text"),
        ("sentence\tlabel\nthe cat\n", "found 1 columns; expected 2"),
    ],
)
def test_wrong_files_are_refused_with_their_place(tmp_path: Path, text: str, message: str) -> None:
    write(tmp_path, "dev.tsv", text)
    with pytest.raises(InputError, match=message):
        read_part(find_task("sst2"), "dev", data=tmp_path)


def test_numbers_are_checked(tmp_path: Path) -> None:
    head = "sentence1\tsentence2\tscore\n"
    write(tmp_path, "dev.tsv", head + "a cat\ta dog\t7\n")
    with pytest.raises(InputError, match="a number from 0 to 5"):
        read_part(find_task("stsb"), "dev", data=tmp_path)
    write(tmp_path, "dev.tsv", head + "a cat\ta dog\tmuch\n")
    with pytest.raises(InputError, match="expected a number"):
        read_part(find_task("stsb"), "dev", data=tmp_path)


def test_ones_own_table_tells_its_classes(tmp_path: Path) -> None:
    write(tmp_path, "train.csv", "body,kind\nthe cat sat,pet\nthe tree,plant\na dog,pet\n")
    options = DataOptions(text_column="body", label_column="kind")
    task, split = read_part(find_task("classification"), "train", data=tmp_path, options=options)
    assert task.labels == ("pet", "plant")
    assert [e.gold for e in split.examples] == [0, 1, 0]
    assert task.head_changes()["id2label"] == {0: "pet", 1: "plant"}
    wrong = DataOptions(text_column="body", label_column="sort")
    with pytest.raises(InputError, match="a column 'sort'"):
        read_part(find_task("classification"), "train", data=tmp_path, options=wrong)


# --- models ---------------------------------------------------------------------------------


def test_a_model_without_the_head_is_refused() -> None:
    with pytest.raises(ModelError, match="has no sequence-classification head, which SST-2 needs"):
        find_task("sst2").for_model(planted())
    with pytest.raises(ModelError, match="question-answering"):
        find_task("squad").for_model(_bert())
    with pytest.raises(ModelError, match="tells 2 classes apart"):
        find_task("mnli").for_model(_bert())
    with pytest.raises(ModelError, match="needs one number"):
        find_task("stsb").for_model(_bert())


def test_classes_are_matched_by_name() -> None:
    names = {0: "positive", 1: "negative"}
    turned = _bert(id2label=names, label2id={v: k for k, v in names.items()})
    task = find_task("sst2").for_model(turned)
    assert task.labels == ("1", "0")
    strange = _bert(id2label={0: "ham", 1: "spam"}, label2id={"ham": 0, "spam": 1})
    with pytest.raises(ModelError, match="knows the classes ham, spam"):
        find_task("sst2").for_model(strange)


def test_answers_are_the_models_in_the_order_of_the_examples(tmp_path: Path) -> None:
    texts = ["the cat sat on the mat .", "he ran", "a big dog saw the bird and the mouse"]
    rows = "".join(f"{text}\t{i % 2}\n" for i, text in enumerate(texts))
    write(tmp_path, "dev.tsv", "sentence\tlabel\n" + rows)
    model = _bert(initializer_range=0.5)
    task, split = read_part(find_task("sst2").for_model(model), "dev", data=tmp_path)
    prepared, counts = task.prepare(split, task.encoder(model))
    given = answer(model, task, prepared, batch_tokens=14)
    assert counts == {"n_cut": 0, "n_skipped": 0}
    for row, text, i in zip(given, texts, range(3), strict=True):
        inputs = model.tokenizer(text, return_tensors="pt")
        with torch.no_grad():
            logits = model.model(**inputs).logits
        assert row[0] == pytest.approx(
            float(functional.cross_entropy(logits, torch.tensor([i % 2]))), abs=1e-5
        )
        assert row[1] == int(logits.argmax())
    assert task.scores(given, prepared)["accuracy"] == np.mean(given[:, 1] == [0, 1, 0])


def test_long_texts_are_cut_and_counted(tmp_path: Path) -> None:
    write(tmp_path, "dev.tsv", "sentence\tlabel\n" + "the cat " * 30 + "\t1\nhe ran\t0\n")
    model = _bert()
    task, split = read_part(find_task("sst2").for_model(model), "dev", data=tmp_path)
    prepared, counts = task.prepare(split, task.encoder(model, 12))
    assert counts["n_cut"] == 1
    assert max(p.n_tokens for p in prepared) <= 12


# --- questions ------------------------------------------------------------------------------


def squad(*articles: list[tuple[str, str, str]]) -> str:
    """SQuAD JSON of (context, question, answer) triples."""
    return json.dumps(
        {
            "data": [
                {
                    "title": f"t{i}",
                    "paragraphs": [
                        {
                            "context": context,
                            "qas": [
                                {
                                    "id": f"q{i}-{j}",
                                    "question": question,
                                    "answers": [{"text": text, "answer_start": context.find(text)}],
                                }
                            ],
                        }
                        for j, (context, question, text) in enumerate(article)
                    ],
                }
                for i, article in enumerate(articles)
            ]
        }
    )


CAT = ("  the big cat sat on the old mat .", "who sat ?", "big cat")
DOG = ("a dog saw the small bird .", "who saw it ?", "dog")


def test_one_file_is_halved_by_articles(tmp_path: Path) -> None:
    write(tmp_path, "dev-v1.1.json", squad([CAT], [DOG]))
    task = find_task("squad")
    parts = {}
    for part in ("train", "dev"):
        _, split = read_part(task, part, data=tmp_path)  # type: ignore[arg-type]
        parts[part] = [e.sequence.id for e in split.examples]
    assert parts == {"train": ["q0-0"], "dev": ["q1-0"]}
    write(tmp_path, "train-v1.1.json", squad([CAT, CAT]))
    _, split = read_part(task, "dev", data=tmp_path)
    assert len(split) == 2


def test_answers_are_found_in_the_tokens(tmp_path: Path) -> None:
    write(tmp_path, "dev.json", squad([DOG], [CAT]))
    model = _bert(kind=BertForQuestionAnswering)
    task, split = read_part(find_task("squad").for_model(model), "dev", data=tmp_path)
    prepared, _ = task.prepare(split, task.encoder(model))
    (one,) = prepared
    first, last = one.target  # type: ignore[misc]
    tokens = model.tokenizer.convert_ids_to_tokens(one.encoded.input_ids)
    assert tokens[first : last + 1] == ["big", "cat"]
    # a model that points at the answer is right
    n = one.n_tokens
    start, end = torch.zeros(1, n), torch.zeros(1, n)
    start[0, first], end[0, last] = 9.0, 9.0
    output = type("Output", (), {"start_logits": start, "end_logits": end})()
    _, labels = task.inputs(model, prepared)
    loss, exact, f1 = task.answers(output, labels, prepared)[0]
    assert (exact, f1) == (1.0, 1.0)
    assert loss == pytest.approx(float(-torch.log_softmax(start[0], 0)[first]))


def test_an_answer_beyond_the_cut_is_wrong_and_has_no_loss(tmp_path: Path) -> None:
    late = ("the cat sat on the old mat and the big dog saw it .", "who saw it ?", "big dog")
    write(tmp_path, "dev.json", squad([DOG], [late]))
    model = _bert(kind=BertForQuestionAnswering)
    task, split = read_part(find_task("squad").for_model(model), "dev", data=tmp_path)
    prepared, counts = task.prepare(split, task.encoder(model, 14))
    assert counts["n_cut"] == 1
    assert prepared[0].target is None
    loss, exact, f1 = answer(model, task, prepared)[0]
    assert np.isnan(loss)
    assert exact == 0.0
    assert f1 < 1.0
    with pytest.raises(UsageError, match="no example of the dev split is left"):
        task.prepare(split, task.encoder(model, 14), learning=True)


def test_spans_by_brute_force() -> None:
    torch.manual_seed(0)
    start, end = torch.randn(4, 12), torch.randn(4, 12)
    inside = torch.zeros(4, 12, dtype=torch.bool)
    inside[:, 3:11] = True
    for row, (first, last) in enumerate(best_spans(start, end, inside).tolist()):
        pairs = [(i, j) for i in range(3, 11) for j in range(i, 11)]
        best = max(pairs, key=lambda p: float(start[row, p[0]] + end[row, p[1]]))
        assert (first, last) == best


def test_scores_of_answers_by_hand() -> None:
    assert exact_match("The cat!", "cat") == 1.0
    assert exact_match("cats", "cat") == 0.0
    assert word_f1("big old cat", "old cat") == pytest.approx(0.8)  # p = 2/3, r = 1
    assert word_f1("dog", "cat") == 0.0


def test_an_answer_that_does_not_stand_there_is_refused(tmp_path: Path) -> None:
    text = squad([DOG]).replace('"answer_start": 2', '"answer_start": 5')
    write(tmp_path, "dev.json", text)
    with pytest.raises(InputError, match="an answer that stands there"):
        read_part(find_task("squad"), "train", file=tmp_path / "dev.json")


def test_real_data(data: Path) -> None:
    sizes = {}
    for title in ("SST-2", "MRPC", "RTE", "STS-B", "QNLI", "QQP", "MNLI"):
        task = find_task(title)
        _, split = read_part(task, "dev", data=data / "glue")
        sizes[title] = len(split)
    assert sizes == {
        "SST-2": 872, "MRPC": 408, "RTE": 277, "STS-B": 1500, "QNLI": 1000, "QQP": 1000,
        "MNLI": 1000,
    }  # fmt: skip
    squad_task = find_task("squad")
    halves = [
        read_part(squad_task, "train", data=data / "squad")[1],
        read_part(squad_task, "dev", data=data / "squad")[1],
    ]
    ids = [{e.sequence.id for e in half.examples} for half in halves]
    assert ids[0]
    assert ids[1]
    assert not ids[0] & ids[1]
