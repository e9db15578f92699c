"""The readers on real data sets, and the treebank parser against the `conllu` package."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

import conllu
import pytest

from headscope.corpora import Corpus, Encoder, ReadOptions, shipped_corpus
from headscope.corpora.checks import check_annotations
from headscope.types import Encoded

COUNTS = [
    ("dependencies/en_ewt-ud-dev.conllu", "conllu", 2001, {"dependencies": 2001, "pos": 2001}),
    ("dependencies/de_gsd-ud-dev.conllu", "conllu", 799, {"dependencies": 799}),
    ("dependencies/en_gum-ud-dev.conllu", "conllu", 1022, {"mentions": 1022}),
    ("dependencies/en_gum-stanford.conll10", "conllx", 2969, {"dependencies": 2969}),
    ("coreference/ontogum-dev.conll", "ontogum", 20, {"mentions": 20}),
    ("coreference/litbank/1064_the_masque_of_the_red_death_brat.conll", "conll2012", 1, {}),
    ("coreference/gap-validation.tsv", "gap", 454, {"mentions": 454}),
    ("glue/MRPC/dev.tsv", "tsv", 408, {"pair": 408}),
    ("glue/RTE/dev.tsv", "tsv", 277, {"pair": 277}),
    ("glue/STS-B/dev.tsv", "tsv", 1500, {"pair": 1500}),
    ("glue/SST-2/dev.tsv", "tsv", 872, {}),
    ("glue/QNLI/heldout_sample.json", "json", None, {}),
    ("glue/QQP/heldout_sample.json", "json", None, {}),
    ("glue/MNLI/heldout_sample.json", "json", None, {}),
    ("squad/dev-v1.1.24articles.json", "squad", None, {}),
    ("framenet/exemplars_le12tok.jsonl", "frames", 3000, {"frames": 3000, "words": 3000}),
    ("text/segments.jsonl", "jsonl", 889, {"pair": 889}),
    ("text/valid.txt", "text", None, {}),
]


@pytest.mark.parametrize(("name", "reader", "n", "carried"), COUNTS, ids=[c[0] for c in COUNTS])
def test_real_file(
    data: Path, name: str, reader: str, n: int | None, carried: dict[str, int]
) -> None:
    path = data / name
    if not path.exists():
        pytest.skip(f"no {path}")
    corpus = Corpus(path)
    summary = corpus.scan()
    assert summary.files[0].reader == reader
    assert n in (None, summary.n_sequences)
    assert carried.items() <= summary.annotations.items()
    for sequence in islice(corpus, 200):
        check_annotations(sequence)


@pytest.mark.parametrize("name", ["en_ewt-ud-dev.conllu", "de_gsd-ud-dev.conllu"])
def test_treebanks_against_the_conllu_package(data: Path, name: str) -> None:
    path = data / "dependencies" / name
    text = path.read_text(encoding="utf-8")
    theirs = conllu.parse("\n\n".join(text.split("\n\n")[:400]))
    original = Corpus(path, options=ReadOptions(spacing="original"))
    for ours, spaced, tree in zip(Corpus(path), original, theirs, strict=False):
        tokens = [token for token in tree if isinstance(token["id"], int)]
        assert ours.id == tree.metadata["sent_id"]
        assert [ours.word_text(i) for i in range(len(ours.words or ()))] == [
            token["form"] for token in tokens
        ]
        assert ours.pos == tuple(token["upos"] for token in tokens)
        assert ours.dependencies is not None
        assert ours.dependencies.heads == tuple(token["head"] - 1 for token in tokens)
        assert ours.dependencies.relations == tuple(token["deprel"] for token in tokens)
        if all(isinstance(token["id"], int) for token in tree):
            assert spaced.text == tree.metadata["text"].strip()


def test_every_sentence_aligns(data: Path, minilm: Any) -> None:
    corpus = Corpus(data / "dependencies" / "en_gum-ud-dev.conllu", limit=500)
    for result in Encoder(minilm, 512).encode_many(corpus):
        assert isinstance(result, Encoded)
        assert set(result.words.tolist()) == set(range(-1, len(result.sequence.words or ())))


def test_shipped_passages_are_pairs() -> None:
    corpus = shipped_corpus()
    if not Path(corpus.parts[0].name).exists():
        pytest.skip("the shipped corpus is not there yet")
    summary = corpus.scan()
    assert summary.n_sequences > 0
    wanted = {"pair", "words", "sentences", "pos", "dependencies", "mentions"}
    assert {summary.annotations[name] for name in wanted} == {summary.n_sequences}
    for sequence in corpus:
        check_annotations(sequence)
        assert all(mention.head is not None for mention in sequence.mentions or ())
