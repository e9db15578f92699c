"""Attention to features, along links and from [CLS]: against loops, on planted heads."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from headscope.engine import Settings
from headscope.engine.shard import run_shard
from headscope.measures import LayerMeasure, Total
from headscope.measures.cls_row import TARGETS, ClsRow
from headscope.measures.feature_attention import FeatureAttention
from headscope.measures.negation_words import negation_spans
from headscope.measures.token_classes import CLASSES, token_classes
from headscope.measures.token_links import LINKS, TokenLinks
from headscope.types import Dependencies, Encoded, Sequence, TokenKind
from tests.planted import (
    HEADS,
    encode_planted,
    encode_planted_causal,
    expected_pattern,
    planted,
    planted_causal,
)

#: Words, tags, heads (from 0, -1 is the root) and relations, worked out by hand.
CAT = encode_planted(
    "She saw the cat playing, not the dogs.",
    name="cat",
    pos=("PRON", "VERB", "DET", "NOUN", "VERB", "PUNCT", "PART", "DET", "NOUN", "PUNCT"),
    dependencies=Dependencies(
        (1, -1, 3, 1, 3, 1, 8, 8, 3, 1),
        ("nsubj", "root", "det", "obj", "acl", "punct", "advmod", "det", "conj", "punct"),
    ),
    sentences=(0,),
)
MICE = encode_planted(
    "The mouse ran. It ate his bird.",
    name="mice",
    pos=("DET", "NOUN", "VERB", "PUNCT", "PRON", "VERB", "PRON", "NOUN", "PUNCT"),
    dependencies=Dependencies(
        (1, 2, -1, 2, 5, -1, 7, 5, 5),
        ("det", "nsubj:pass", "root", "punct", "nsubj", "root", "nmod:poss", "obj", "punct"),
    ),
    sentences=(0, 4),
)


def tokens_of(encoded: Encoded, word: int) -> list[int]:
    return [i for i, w in enumerate(encoded.words) if w == word]


WORDS = {
    "cat": {
        "noun": [3, 8],
        "verb": [1, 4],
        "pronoun": [0],
        "subject": [0],
        "object": [3],
        "negation": [6],
    },
    "mice": {
        "noun": [1, 7],
        "verb": [2, 5],
        "pronoun": [4, 6],
        "subject": [1, 4],
        "object": [7],
        "negation": [],
    },
}


def positions(encoded: Encoded) -> dict[str, list[int]]:
    found = {
        name: [t for word in words for t in tokens_of(encoded, word)]
        for name, words in WORDS[encoded.sequence.id].items()
    }
    found["cls"] = [i for i, k in enumerate(encoded.kinds) if k == TokenKind.CLS]
    found["sep"] = [i for i, k in enumerate(encoded.kinds) if k == TokenKind.SEP]
    return found


def table_of(measure: LayerMeasure, encoded: list[Encoded], column: str) -> dict[tuple, tuple]:
    model = planted()
    values = run_shard(model, [measure], encoded, Settings())
    total = Total(model.layout, {place: v for (_, place), v in values.items()})
    (table,) = measure.finish(total).tables.values()
    keys = zip(table["layer"], table["head"], table[column], strict=True)
    return dict(zip(keys, zip(table["mean"], table["n"], strict=True), strict=True))


def test_split_words_are_wholly_of_their_class() -> None:
    playing = tokens_of(CAT, 4)
    assert len(playing) == 2
    classes = token_classes(CAT, "en")
    assert classes[playing, CLASSES.index("verb")].all()
    expected = np.zeros_like(classes)
    for name, where in positions(CAT).items():
        expected[where, CLASSES.index(name)] = True
    assert (classes == expected).all()


@pytest.mark.parametrize("sequences", [[CAT, MICE], [MICE], [CAT]], ids=["both", "mice", "cat"])
def test_features_agree_with_a_loop(sequences: list[Encoded]) -> None:
    found = table_of(FeatureAttention(), sequences, "feature")
    for head, feature in product(range(len(HEADS)), CLASSES):
        values = []
        for one in sequences:
            pattern, where = expected_pattern(one)[head], positions(one)[feature]
            if where:
                values.append(max(pattern[:, key].mean() for key in where))
        for layer in range(2):
            if not values:
                assert (layer, head, feature) not in found
                continue
            mean, n = found[layer, head, feature]
            assert mean == pytest.approx(np.mean(values), abs=1e-6)
            assert n == len(values)


def test_the_cls_row_agrees_with_a_loop_and_shares_out_its_attention() -> None:
    sequences = [CAT, MICE]
    found = table_of(ClsRow(), sequences, "target")
    for head, target in product(range(len(HEADS)), TARGETS):
        values = []
        for one in sequences:
            where = positions(one)
            marks = (TokenKind.PERIOD, TokenKind.COMMA)
            where["punct"] = [i for i, k in enumerate(one.kinds) if k in marks]
            where["other"] = [i for i, k in enumerate(one.kinds) if k == TokenKind.OTHER]
            if where[target]:
                values.append(expected_pattern(one)[head][0, where[target]].sum())
        mean, n = found[1, head, target]
        assert mean == pytest.approx(np.mean(values), abs=1e-6)
        assert n == len(values)
    everywhere = HEADS.index("everywhere")
    whole = sum(found[0, everywhere, t][0] for t in ("cls", "sep", "punct", "other"))
    assert whole == pytest.approx(1.0, abs=1e-6)


def test_an_even_head_gives_every_class_its_even_share() -> None:
    model, measure = planted(), ClsRow()
    values = run_shard(model, [measure], [CAT, MICE], Settings())
    total = Total(model.layout, {place: v for (_, place), v in values.items()})
    table = measure.finish(total).tables["cls_row"]
    even = np.asarray(table["head"]) == HEADS.index("everywhere")
    assert np.asarray(table["mean"])[even] == pytest.approx(
        np.asarray(table["even"])[even], abs=1e-6
    )


PAIRS = {
    # verb and subject: an nsubj below a verb; pronoun and noun: pairs of one sentence
    "cat": {"subject": [(1, 0)], "noun": [(0, 3), (0, 8)]},
    "mice": {"subject": [(2, 1), (5, 4)], "noun": [(4, 7), (6, 7)]},
}


def linked_by_loop(pattern: NDArray[np.float64], one: Encoded, link: str, over: str) -> float:
    kind = "subject" if "subject" in link else "noun"
    found = []
    for first, second in PAIRS[one.sequence.id][kind]:
        for a, b in product(tokens_of(one, first), tokens_of(one, second)):
            found.append(pattern[b, a] if link in LINKS[1::2] else pattern[a, b])
    return max(found) if over == "max" else float(np.mean(found))


@pytest.mark.parametrize("over", ["max", "mean"])
def test_links_agree_with_a_loop(over: str) -> None:
    sequences = [CAT, MICE]
    found = table_of(TokenLinks(over=over), sequences, "link")
    for head, link in product(range(len(HEADS)), LINKS):
        values = [linked_by_loop(expected_pattern(s)[head], s, link, over) for s in sequences]
        mean, n = found[0, head, link]
        assert mean == pytest.approx(np.mean(values), abs=1e-6), (HEADS[head], link)
        assert n == 2
    # "She saw": every subject of `cat` is the token before its verb
    previous = table_of(TokenLinks(), [CAT], "link")[0, HEADS.index("previous"), LINKS[0]]
    assert previous[0] == pytest.approx(1.0, abs=1e-6)


def test_without_links_there_is_no_data() -> None:
    bare = encode_planted("the cat", name="bare", pos=("DET", "NOUN"))
    assert table_of(TokenLinks(), [bare], "link") == {}


def test_a_model_without_cls_has_no_cls_row() -> None:
    model, measure = planted_causal(), ClsRow()
    values = run_shard(model, [measure], [encode_planted_causal("the cat sat")], Settings())
    assert not values


@pytest.mark.parametrize(
    ("text", "language", "words"),
    [
        ("Nothing is not a knot; it isn’t, no.", "en", ["Nothing", "not", "isn’t", "no"]),
        ("Keine Angst, nicht heute: Kleine Nichten", "de", ["Keine", "nicht"]),
        ("Il n’est pas là, jamais.", "fr", ["n’", "pas", "jamais"]),
        ("No hay nada; nadador.", "es", ["No", "nada"]),
    ],
)
def test_negation_is_whole_words_only(text: str, language: str, words: list[str]) -> None:
    spans = negation_spans(text, language)  # type: ignore[arg-type]
    assert [text[a:b] for a, b in spans] == words


def test_plain_text_has_negation_by_its_characters() -> None:
    with_words = encode_planted("The dog ran, not it.", name="plain")
    bare = Encoded(
        Sequence("plain", "The dog ran, not it."),
        with_words.input_ids,
        with_words.kinds,
        with_words.segments,
        np.full_like(with_words.words, -1),
        with_words.offsets,
        with_words.model_inputs,
    )
    mine = token_classes(bare, "en")
    negation = CLASSES.index("negation")
    assert (mine[:, negation] == token_classes(with_words, "en")[:, negation]).all()
    assert mine[:, negation].sum() == 1
    assert not mine[:, : CLASSES.index("negation")].any()
