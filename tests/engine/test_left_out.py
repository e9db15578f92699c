"""NaN, inf and empty rows in attention are reported, and never averaged."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from headscope.corpora import Corpus
from headscope.engine import Settings, analyze, choose_measures
from headscope.engine.compare import compare_models
from headscope.engine.left_out import LEFT_OUT, told
from headscope.engine.plan import encoder_for
from headscope.engine.shard import run_shard
from headscope.errors import ModelError
from headscope.measures import MEASURES
from headscope.models import LoadedModel, collate
from headscope.models.broken_rows import broken_heads, is_distribution
from headscope.probes.head_vectors import sentence_vectors
from headscope.tasks import Prepared
from headscope.tasks.example import Example
from headscope.tasks.finite_answers import check_answers
from headscope.types import Encoded, Sequence
from headscope.values import Counts
from tests.planted import VOCABULARY, planted

FINE = ["the cat sat", "a cat saw the bird", "the old cat ran and sat"]
BROKEN = ["the dog sat", "the dog saw a cat"]
#: Measures that need no annotation; the rule is the same for all.
BY_PATTERN = [n for n, kind in MEASURES.items() if kind.default and not kind.needs]


def poisoned(value: float) -> LoadedModel:
    """The planted model, with a word that no attention survives."""
    model = planted()
    with torch.no_grad():
        model.model.embeddings.word_embeddings.weight[VOCABULARY.index("dog")] = value
    return model


def encoded(model: LoadedModel, texts: list[str]) -> list[Encoded]:
    encoder = encoder_for(model)
    found = [encoder.encode(Sequence(f"s{i}", text)) for i, text in enumerate(texts)]
    return [one for one in found if isinstance(one, Encoded)]


@pytest.mark.parametrize("value", [math.nan, math.inf, 1e38])
def test_broken_sequences_are_left_out_and_told(value: float, tmp_path: Path) -> None:
    for name, texts in (("mixed", [*FINE, *BROKEN]), ("fine", FINE)):
        (tmp_path / f"{name}.txt").write_text("".join(f"{t}\n" for t in texts))
    model = poisoned(value)
    runs = {
        name: analyze(
            model,
            Corpus(tmp_path / f"{name}.txt"),
            tmp_path / name,
            settings=Settings(shard_size=2),
        )
        for name in ("mixed", "fine")
    }
    record = runs["mixed"].record
    assert record.counts["n_left_out"] == 2
    assert record.counts["n_sequences"] == 3
    note = next(note for note in record.notes if "left out" in note)
    assert note.startswith("2 sequences were left out of everything (")
    assert "1-1" in note
    assert "left out of everything" in (runs["mixed"].path / "report.html").read_text()
    assert "n_left_out" not in runs["fine"].record.counts
    for name in ("surface", "entropy", "distance"):
        mixed, fine = (runs[one].table(name).to_pandas() for one in ("mixed", "fine"))
        assert list(mixed.columns) == list(fine.columns)
        for column in mixed:
            if mixed[column].dtype == float:
                np.testing.assert_allclose(mixed[column], fine[column], atol=1e-6, err_msg=column)
            else:
                assert mixed[column].tolist() == fine[column].tolist()


def test_where_nothing_is_left_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "all.txt").write_text("".join(f"{t}\n" for t in BROKEN))
    with pytest.raises(ModelError, match=r"in all 2 sequences the attention of heads 1-1, .* not"):
        analyze(poisoned(math.nan), Corpus(tmp_path / "all.txt"), tmp_path / "run")


def test_tokens_that_may_see_nothing(planted_bert: LoadedModel) -> None:
    texts = encoded(planted_bert, FINE)
    blind = [
        replace(one, model_inputs={"attention_mask": np.full(one.n_tokens, int(i != 1))})
        for i, one in enumerate(texts)
    ]
    measures = choose_measures(["surface"])
    values = run_shard(planted_bert, measures, blind, Settings())
    n_left_out, notes = told(values, len(blind))
    assert n_left_out == 1
    assert "(s1)" in notes[0]
    alone = run_shard(planted_bert, measures, [texts[0], texts[2]], Settings())
    assert {key for key in values if key[0] != LEFT_OUT} == set(alone)


@pytest.mark.parametrize("name", BY_PATTERN)
def test_no_measure_ever_sees_them(name: str, planted_bert: LoadedModel) -> None:
    """Also one that would take a maximum of NaN for an answer."""
    values = run_shard(
        poisoned(math.nan), choose_measures([name]), encoded(planted_bert, BROKEN), Settings()
    )
    assert {key[0] for key in values} == {LEFT_OUT}


def test_broken_padding_is_nobodys(planted_bert: LoadedModel) -> None:
    from headscope.models import Tap

    texts = encoded(planted_bert, FINE)
    seen = []
    with torch.inference_mode(), Tap(planted_bert.body, observer=seen.append) as tap:
        tap.forward(collate(texts, pad_id=planted_bert.pad_id))
    view = seen[0]
    assert broken_heads(view) == (view, None)
    pattern = view.pattern.clone()
    pattern[0, :, -1] = math.nan  # the shortest sequence has padding there
    assert not bool(view.queries.real[0, -1])
    mended, broken = broken_heads(replace(view, pattern=pattern))
    assert broken is None
    assert bool(torch.isfinite(mended.pattern).all())
    pattern[0, 2, 0, 0] = math.inf
    _, broken = broken_heads(replace(view, pattern=pattern))
    assert broken is not None
    assert broken.nonzero().tolist() == [[0, 2]]


def test_rows_of_any_sum_are_fine_but_not_of_none() -> None:
    rows = torch.tensor([[0.2, 0.3], [0.0, 0.0], [1.0, math.nan]])[None, None]
    allowed = torch.ones(1, 1, 3, 2, dtype=torch.bool)
    assert is_distribution(rows, allowed).flatten().tolist() == [True, False, False]
    allowed[0, 0, 0] = False
    assert not is_distribution(rows, allowed)[0, 0, 0]


def test_the_count_survives_a_checkpoint() -> None:
    from headscope.values import pack, unpack

    model = poisoned(math.nan)
    values = run_shard(
        model, choose_measures(["entropy"]), encoded(model, [*FINE, *BROKEN]), Settings()
    )
    (key,) = [key for key in values if key[0] == LEFT_OUT]
    again = unpack(*pack({"x": values[key]}))["x"]
    both = again + values[key]
    assert int(both.part("sequences", Counts).counts) == 4


def test_a_comparison_leaves_out_what_either_model_cannot_read(
    planted_bert: LoadedModel, tmp_path: Path
) -> None:
    for name, texts in (("mixed", [*FINE, *BROKEN]), ("fine", FINE)):
        (tmp_path / f"{name}.txt").write_text("".join(f"{t}\n" for t in texts))
    for models in ((planted_bert, poisoned(math.nan)), (poisoned(math.nan), planted_bert)):
        runs = {}
        for name in ("mixed", "fine"):
            out = tmp_path / f"{name}-{models[0] is planted_bert}"
            runs[name] = compare_models(*models, Corpus(tmp_path / f"{name}.txt"), out)
        assert runs["mixed"].record.counts["n_left_out"] == 2
        assert any("left out of everything" in note for note in runs["mixed"].record.notes)
        mixed, fine = (runs[n].table("similarity").to_pandas() for n in ("mixed", "fine"))
        np.testing.assert_allclose(mixed["cosine"], fine["cosine"], atol=1e-6)
        assert np.isfinite(mixed["cosine"]).all()
    (tmp_path / "all.txt").write_text("".join(f"{t}\n" for t in BROKEN))
    with pytest.raises(ModelError, match="in all 2 sequences"):
        compare_models(
            planted_bert, poisoned(math.inf), Corpus(tmp_path / "all.txt"), tmp_path / "none"
        )


def test_vectors_that_are_no_numbers_are_refused(planted_bert: LoadedModel) -> None:
    fine = collate(encoded(planted_bert, FINE), pad_id=planted_bert.pad_id)
    assert np.isfinite(sentence_vectors(planted_bert, fine, "first")[0].numpy()).all()
    model = poisoned(math.nan)
    batch = collate(encoded(model, [FINE[0], *BROKEN]), pad_id=model.pad_id)
    with pytest.raises(ModelError, match=r"vectors of 2 of 3 texts are not finite \(first: s1\)"):
        sentence_vectors(model, batch, "first")


def test_answers_that_are_no_numbers_are_refused(planted_bert: LoadedModel) -> None:
    """Per example, or per real token; what stands on padding is nobody's."""
    part = [Prepared(one, Example(one.sequence, 0), 0) for one in encoded(planted_bert, FINE)]
    real = collate([p.encoded for p in part]).source.real
    logits = torch.zeros(3, 2)
    check_answers(SimpleNamespace(logits=logits), real, part)
    logits[1, 0] = math.inf
    with pytest.raises(ModelError, match=r"answers to 1 of 3 examples .*first: s1"):
        check_answers(SimpleNamespace(logits=logits), real, part)
    starts = torch.zeros(real.shape)
    starts[~real] = math.nan
    check_answers(SimpleNamespace(start_logits=starts, end_logits=starts), real, part)
    starts[2, 0] = math.nan
    with pytest.raises(ModelError, match="first: s2"):
        check_answers(SimpleNamespace(start_logits=starts, end_logits=starts), real, part)
    words = torch.zeros(*real.shape, 5)
    words[0, 1, 3] = -math.inf
    with pytest.raises(ModelError, match="first: s0"):
        check_answers(SimpleNamespace(logits=words), real, part)
