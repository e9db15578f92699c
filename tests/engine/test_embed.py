"""Vectors for users: files, and scikit-learn."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import headscope as hs
from headscope.engine.vectorizer import HeadVectorizer
from headscope.errors import UsageError
from headscope.models import LoadedModel, collate
from headscope.probes.head_vectors import sentence_vectors
from headscope.types import HeadId
from tests.planted import encode_planted
from tests.said import Headscope

TEXTS = ["the cat sat on the mat", "he ran", "a big dog saw it"]


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    path = tmp_path / "toy.txt"
    path.write_text("\n".join(TEXTS) + "\n", encoding="utf-8")
    return path


def expected(model: LoadedModel, *labels: str) -> np.ndarray:
    rows, layout = sentence_vectors(model, collate([encode_planted(t) for t in TEXTS]), "first")
    parts = [rows[:, layout.head(HeadId.parse(label))] for label in labels]
    return np.concatenate([part.numpy() for part in parts], axis=1)


def test_vectors_as_a_table_in_the_order_of_the_heads(
    headscope: Headscope,
    planted_folder: Path,
    planted_bert: LoadedModel,
    toy: Path,
    tmp_path: Path,
) -> None:
    output = tmp_path / "vectors.npy"
    code, out, err = headscope(
        "embed", planted_folder, "--heads", "2-3,1-5", "-c", toy, "-o", output
    )
    assert code == 0, err
    assert "3 vectors of 160 numbers (2-3, 1-5; first token)" in out
    found = np.load(output)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected(planted_bert, "2-3", "1-5"), atol=1e-5)


def test_vectors_as_parquet_with_texts(
    headscope: Headscope,
    planted_folder: Path,
    planted_bert: LoadedModel,
    toy: Path,
    tmp_path: Path,
) -> None:
    output = tmp_path / "vectors.parquet"
    code, _, err = headscope(
        "embed", planted_folder, "--heads", "1-3", "--layers", "2", "-c", toy, "-o", output
    )
    assert code == 0, err
    table = pq.read_table(output)
    assert table.column_names == ["id", "text", "pair", "1-3", "layer 2"]
    assert table["text"].to_pylist() == TEXTS
    found = np.array(table["1-3"].to_pylist())
    np.testing.assert_allclose(found, expected(planted_bert, "1-3"), atol=1e-5)
    assert len(table["layer 2"][0]) == 640


def test_refusals_leave_no_file(
    headscope: Headscope, planted_folder: Path, toy: Path, tmp_path: Path
) -> None:
    for arguments, message in (
        (("--heads", "9-1", "-o", tmp_path / "v.npy"), "no head 9-1: the model has 2 layers"),
        (("--heads", "1-1,1-1", "-o", tmp_path / "v.npy"), "head 1-1 is named twice"),
        (("--heads", "one", "-o", tmp_path / "v.npy"), "'one' is no head"),
        (("--layers", "7", "-o", tmp_path / "v.npy"), "no layer 7"),
        (("--layers", "0", "-o", tmp_path / "v.npy"), "expected layers from 1"),
        (("-o", tmp_path / "v.csv"), "expected .npy or .parquet"),
        (("-o", tmp_path / "no" / "v.npy"), "does not exist"),
    ):
        code, _, err = headscope("embed", planted_folder, "-c", toy, *arguments)
        assert (code, message in err) == (2, True), err
    assert [p.name for p in tmp_path.iterdir()] == ["toy.txt"]


def test_a_scikit_learn_pipeline_learns_from_a_head(planted_bert: LoadedModel) -> None:
    texts = [f"{w} {f} ran" for w in ("cat", "dog") for f in ("big", "small", "red", "old")]
    labels = [t.split()[0] for t in texts]
    pipeline = make_pipeline(HeadVectorizer(planted_bert, heads="1-3"), LogisticRegression(C=100))
    assert (pipeline.fit(texts, labels).predict(texts) == labels).all()
    names = pipeline[0].get_feature_names_out()
    assert (len(names), names[0]) == (80, "1-3[0]")


def test_the_transformer_is_a_proper_estimator(planted_bert: LoadedModel) -> None:
    one = HeadVectorizer(planted_bert, heads=["1-1", "2-1"], layers=[1], token="mean")
    twin = clone(one)
    assert twin.get_params()["token"] == "mean"
    found = twin.fit(TEXTS).transform([*TEXTS, ("the cat", "he ran")])
    assert found.shape == (4, 2 * 80 + 640)
    assert twin.transform([]).shape == (0, 800)
    np.testing.assert_allclose(found[:3], twin.transform(TEXTS), atol=1e-6)
    every = HeadVectorizer(planted_bert).fit(TEXTS)
    assert every.transform(TEXTS).shape == (3, 16 * 80)
    with pytest.raises(UsageError, match="no head 7-7"):
        HeadVectorizer(planted_bert, heads="7-7").fit(TEXTS)


def test_it_is_found_from_python() -> None:
    assert hs.HeadVectorizer is HeadVectorizer
