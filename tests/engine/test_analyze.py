"""The pass: the same numbers however it is cut up, and whatever happens on the way."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.corpora import Corpus
from headscope.engine import Settings, analyze, choose_measures
from headscope.engine.shard import run_shard
from headscope.errors import HeadscopeError, RunError, UsageError
from headscope.measures import LayerMeasure, Total
from headscope.measures.per_sequence import moments_of
from headscope.models import LoadedModel, View
from headscope.types import Result
from headscope.values import Moments
from tests.planted import encode_planted

WORDS = [
    "the",
    "a",
    "cat",
    "dog",
    "bird",
    "mouse",
    "sat",
    "saw",
    "ran",
    "ate",
    "big",
    "small",
    "red",
    "old",
    "she",
    "he",
    "it",
    "and",
    "not",
]
MEASURES = choose_measures(["surface", "entropy"])


def sentences(n: int, seed: int = 0) -> list[str]:
    rng = random.Random(seed)
    return [" ".join(rng.choices(WORDS, k=rng.randint(1, 25))) + "." for _ in range(n)]


@pytest.fixture(scope="session")
def corpus_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("corpus") / "toy.txt"
    path.write_text("\n".join(sentences(61)) + "\n", encoding="utf-8")
    return path


def table_bytes(run: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in sorted((run / "tables").iterdir())}


def test_any_batch_and_shard_size_gives_the_same_numbers(
    planted_bert: LoadedModel, corpus_file: Path, tmp_path: Path
) -> None:
    corpus = Corpus(corpus_file)
    reference = analyze(planted_bert, corpus, tmp_path / "reference", measures=MEASURES)
    for i, (shard, batch) in enumerate([(1, 10), (7, 64), (1000, 100_000)]):
        settings = Settings(shard_size=shard, batch_tokens=batch)
        run = analyze(planted_bert, corpus, tmp_path / str(i), measures=MEASURES, settings=settings)
        for name, mean in (("surface", "mean"), ("entropy", "mean_nats")):
            ours, theirs = run.table(name), reference.table(name)
            for column in (mean, "ci_low", "ci_high"):
                np.testing.assert_allclose(
                    ours[column].to_numpy(), theirs[column].to_numpy(), atol=1e-6
                )
            assert ours["n"] == theirs["n"]


def test_the_same_settings_give_the_same_bits(
    planted_bert: LoadedModel, corpus_file: Path, tmp_path: Path
) -> None:
    for name in ("a", "b"):
        analyze(planted_bert, Corpus(corpus_file), tmp_path / name, measures=MEASURES)
    assert table_bytes(tmp_path / "a") == table_bytes(tmp_path / "b")


class _Interrupting:
    """A listener that pulls the plug after some batches."""

    def __init__(self, after: int) -> None:
        self.left = after

    def stage(self, title: str, total: int | None = None) -> None:
        pass

    def advance(self, n: int, n_sequences: int = 0) -> None:
        if n == n_sequences:  # the planning stage counts sequences
            return
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt


def test_an_interrupted_run_resumes_to_the_same_bytes(
    planted_bert: LoadedModel, corpus_file: Path, tmp_path: Path
) -> None:
    options: dict[str, Any] = {
        "measures": MEASURES, "settings": Settings(shard_size=8, batch_tokens=64),
    }  # fmt: skip
    corpus = Corpus(corpus_file)
    analyze(planted_bert, corpus, tmp_path / "whole", **options)
    path = tmp_path / "broken"
    for after in (3, 6):
        with pytest.raises(KeyboardInterrupt):
            analyze(
                planted_bert, corpus, path, resume=True, progress=_Interrupting(after), **options
            )
    assert list((path / "checkpoints").iterdir()), "the interruption came too early to matter"
    with pytest.raises(RunError, match="--resume"):
        hs.open_run(path)
    with pytest.raises(RunError, match="--resume"):
        analyze(planted_bert, corpus, path, **options)
    analyze(planted_bert, corpus, path, resume=True, **options)
    assert table_bytes(path) == table_bytes(tmp_path / "whole")
    assert not (path / "checkpoints").exists()
    # a finished run is simply reported
    assert analyze(planted_bert, corpus, path, resume=True, **options).tables


def test_resume_refuses_another_question(
    planted_bert: LoadedModel, corpus_file: Path, tmp_path: Path
) -> None:
    corpus = Corpus(corpus_file)
    analyze(planted_bert, corpus, tmp_path / "r", measures=MEASURES)
    with pytest.raises(RunError, match="shard_size"):
        analyze(
            planted_bert,
            corpus,
            tmp_path / "r",
            measures=MEASURES,
            settings=Settings(shard_size=3),
            resume=True,
        )


class Greedy(LayerMeasure):
    """A measure that asks for more memory than there is when a batch is large. Source: none."""

    name: ClassVar[str] = "greedy"
    tables: ClassVar[tuple[str, ...]] = ("greedy",)
    most: int = 2

    def observe(self, view: View) -> Moments:
        if len(view.batch) > self.most:
            torch.empty(2**55)  # no machine has it: the allocator's own error
        return moments_of(view.pattern.diagonal(dim1=-2, dim2=-1).mean(dim=-1))

    def finish(self, total: Total) -> Result:
        return Result()


def test_out_of_memory_halves_the_batch_and_goes_on(planted_bert: LoadedModel) -> None:
    encoded = [encode_planted("the cat sat.", name=str(i)) for i in range(11)]
    values = run_shard(planted_bert, [Greedy(), *MEASURES], encoded, Settings())
    plain = run_shard(planted_bert, MEASURES, encoded, Settings())
    for key, value in plain.items():
        assert isinstance(value, Moments)
        found = values[key]
        assert isinstance(found, Moments)
        np.testing.assert_array_equal(found.n, value.n)
        np.testing.assert_allclose(found.mean, value.mean, atol=1e-6)


def test_out_of_memory_on_one_sequence_is_said_clearly(planted_bert: LoadedModel) -> None:
    with pytest.raises(HeadscopeError, match="single sequence of 6 tokens"):
        run_shard(planted_bert, [Greedy(most=0)], [encode_planted("the cat sat.")], Settings())


def test_other_errors_are_not_taken_for_a_lack_of_memory(planted_bert: LoadedModel) -> None:
    class Broken(Greedy):
        def observe(self, view: View) -> Moments:
            raise RuntimeError("a bug")

    encoded = [encode_planted("the cat sat.")] * 4
    with pytest.raises(RuntimeError, match="a bug"):
        run_shard(planted_bert, [Broken()], encoded, Settings())


def test_lengths_are_cut_or_skipped_and_counted(planted_bert: LoadedModel, tmp_path: Path) -> None:
    corpus = Corpus.of(["the cat sat on the mat and ran.", "he ran."])
    cut = analyze(planted_bert, corpus, tmp_path / "cut", measures=MEASURES, max_tokens=6)
    assert cut.record.counts["n_cut"] == 1
    assert cut.record.counts["n_cut_tokens"] == 5
    assert "cut" in cut.record.notes[0]
    left = analyze(
        planted_bert, corpus, tmp_path / "skip", measures=MEASURES, max_tokens=6, long="skip"
    )
    assert left.record.counts["n_skipped_long"] == 1
    assert left.record.counts["n_sequences"] == 1
    with pytest.raises(UsageError, match="none of the 2 sequences"):
        analyze(planted_bert, corpus, tmp_path / "no", measures=MEASURES, max_tokens=3, long="skip")
    assert not (tmp_path / "no").exists()
    with pytest.raises(UsageError, match="at most 40"):
        analyze(planted_bert, corpus, tmp_path / "no", measures=MEASURES, max_tokens=41)


def test_a_measure_without_its_annotation_is_skipped_with_the_reason(
    planted_bert: LoadedModel, tmp_path: Path
) -> None:
    class Wordy(Greedy):
        """Needs what plain text lacks. Source: none."""

        name: ClassVar[str] = "wordy"
        needs: ClassVar[frozenset[str]] = frozenset({"dependencies", "words"})

    corpus = Corpus.of(["the cat sat.", "he ran."])
    run = analyze(planted_bert, corpus, tmp_path / "r", measures=[*MEASURES, Wordy()])
    assert [s.name for s in run.record.skipped] == ["wordy"]
    assert run.record.skipped[0].reason == "the corpus has no dependencies and no words"
    with pytest.raises(UsageError, match="nothing to measure"):
        analyze(planted_bert, corpus, tmp_path / "n", measures=[Wordy()])
    assert not (tmp_path / "n").exists()


def test_the_python_face(planted_bert: LoadedModel) -> None:
    run = hs.analyze(planted_bert, ["the cat sat.", ("he ran.", "it sat.")], measures=["surface"])
    assert run.tables == ("surface",)
    frame = run.table("surface").to_pandas()
    assert set(frame["target"]) >= {"self", "prev", "next", "cls", "sep"}
    assert "self" in run.figure("surface").sentence or run.figure("surface").sentence
    assert hs.open_run(run.path).record.model.family == "bert"
