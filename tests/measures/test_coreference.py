"""Antecedents: planted heads, a naive loop, rules by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from transformers import BertConfig, BertModel

from headscope.engine import Settings
from headscope.engine.shard import run_shard
from headscope.measures import Total, build
from headscope.measures.antecedents import anaphors, described, guess, is_right
from headscope.measures.mentions import MentionType, head_word, mention_type
from headscope.models import Tap, View, collate, load
from headscope.types import Dependencies, Encoded, Mention, Result, Word
from headscope.types import Sequence as Text
from tests.planted import HEADS, encode_planted, planted, planted_tokenizer


def text_of(words: str, *mentions: Mention, **annotations: Any) -> Text:
    forms = words.split()
    starts = [len(" ".join(forms[:i])) + (i > 0) for i in range(len(forms))]
    spans = tuple(Word(0, s, s + len(f)) for s, f in zip(starts, forms, strict=True))
    return Text("t", words, words=spans, mentions=mentions, **annotations)


# --- head words and types ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "head"),
    [
        ("the old man", "man"),
        ("the king of France", "king"),
        ("the man who laughed", "man"),
        ("Anna , my sister", "Anna"),
        ("my sister 's", "sister"),
        ("she", "she"),
    ],
)
def test_head_word_without_a_tree(words: str, head: str) -> None:
    text = text_of(words)
    assert text.word_text(head_word(text, Mention("e", 0, len(words.split())))) == head


def test_head_word_from_the_corpus_and_from_the_tree() -> None:
    tree = Dependencies((2, 2, 4, 2, -1), ("det", "amod", "nsubj", "acl", "root"))
    text = text_of("the old man there left", dependencies=tree)
    assert head_word(text, Mention("e", 0, 4)) == 2
    assert head_word(text, Mention("e", 0, 4, head=1)) == 1


@pytest.mark.parametrize(
    ("words", "span", "pos", "expected"),
    [
        ("she left", (0, 1), None, MentionType.PRONOUN),
        ("then Anna left", (1, 2), None, MentionType.PROPER),
        ("Dogs bark", (0, 1), None, MentionType.NOMINAL),
        ("Anna Smith left", (0, 2), None, MentionType.PROPER),
        ("the dog left", (0, 2), None, MentionType.NOMINAL),
        ("der Hund bellt", (0, 2), ("DET", "NOUN", "VERB"), MentionType.NOMINAL),
        ("Berlin schläft", (0, 1), ("NE", "VVFIN"), MentionType.PROPER),
        ("das gefällt", (0, 1), ("PRON", "VERB"), MentionType.PRONOUN),
    ],
)
def test_types(words: str, span: tuple[int, int], pos: Any, expected: MentionType) -> None:
    text = text_of(words, pos=pos)
    mention = Mention("e", *span)
    assert mention_type(text, mention, head_word(text, mention)) is expected


# --- antecedents and rules ---------------------------------------------------------------------

#: 0 Anna 1 met 2 the 3 old 4 man 5 and 6 Mary 7 . 8 The 9 man 10 saw 11 her 12 , 13 and 14 Anna
STORY = text_of(
    "Anna met the old man and Mary . The man saw her , and Anna",
    Mention("anna", 0, 1),
    Mention("man", 2, 5),
    Mention("mary", 6, 7),
    Mention("man", 8, 10),
    Mention("anna", 11, 12),
    Mention("anna", 14, 15),
)


def test_anaphors_and_the_three_rules_by_hand() -> None:
    found = {a.mention.start: a for a in anaphors(STORY)}
    assert sorted(found) == [8, 11, 14]
    assert found[8].antecedents == {4}
    assert found[14].antecedents == {0, 11}
    guesses = {
        (start, system): (g.start if (g := guess(system, a)) else None)
        for start, a in found.items()
        for system in ("nearest", "head_match", "rules")
    }
    assert guesses == {
        (8, "nearest"): 6,  # Mary
        (8, "head_match"): 2,  # the old man
        (8, "rules"): 2,
        (11, "nearest"): 8,  # The man
        (11, "head_match"): None,
        (11, "rules"): 6,  # not the man: Mary is the nearest that may be a she
        (14, "nearest"): 11,  # her
        (14, "head_match"): 0,
        (14, "rules"): 0,
    }
    right = {key: is_right(found[key[0]], guess(key[1], found[key[0]])) for key in guesses}
    assert right[14, "nearest"]
    assert not right[11, "rules"]


def test_two_spans_around_one_head_are_one_link() -> None:
    nested = text_of("she saw the man there", Mention("m", 2, 4), Mention("m", 2, 5), Mention("s", 0, 1))  # fmt: skip  # noqa: E501
    assert [d.head for d in described(nested)] == [0, 4, 3]
    tree = Dependencies((1, -1, 3, 1, 3), ("nsubj", "root", "det", "obj", "advmod"))
    again = text_of("she saw the man there", *(nested.mentions or ()), dependencies=tree)
    assert anaphors(again) == []


# --- heads ------------------------------------------------------------------------------------


def mention_of(text: str, word: str, nth: int, entity: str) -> Mention:
    places = [i for i, form in enumerate(text.replace(".", " .").split()) if form == word]
    return Mention(entity, places[nth], places[nth] + 1)


def planted_documents() -> list[Encoded]:
    first = "the cat saw a dog . she ran . the cat sat ."
    second = "he ate . the dog saw him . a mouse ran . the dog sat . he ran ."
    return [
        encode_planted(
            first,
            name="first",
            mentions=(
                mention_of(first, "cat", 0, "cat"),
                mention_of(first, "dog", 0, "dog"),
                mention_of(first, "she", 0, "cat"),
                mention_of(first, "cat", 1, "cat"),
            ),
        ),
        encode_planted(
            second,
            name="second",
            mentions=(
                mention_of(second, "he", 0, "man"),
                mention_of(second, "dog", 0, "dog"),
                mention_of(second, "mouse", 0, "mouse"),
                mention_of(second, "dog", 1, "dog"),
                mention_of(second, "he", 1, "man"),
            ),
        ),
        encode_planted("a bird ran.", name="bare"),
    ]


def measured(encoded: Sequence[Encoded], model: Any = None, **parameters: object) -> Result:
    model = model or planted()
    measure = build("coreference", parameters)
    values = run_shard(model, [measure], encoded, Settings(batch_tokens=64))
    return measure.finish(Total(model.layout, {place: v for (_, place), v in values.items()}))


def rows(result: Result, table: str) -> list[dict[str, Any]]:
    columns = result.tables[table]
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def test_planted_same_word_head_scores_as_it_must() -> None:
    """Its links are exactly the mentions whose head word occurs before: 3 of 4."""
    table = rows(measured(planted_documents()), "coreference")
    same = {
        r["mention"]: (r["accuracy"], r["n"])
        for r in table
        if (r["layer"], HEADS[r["head"]]) == (0, "same_word")
    }
    # she → cat has no equal word; cat → cat, dog → dog, he → he have
    assert same == {"all": (0.75, 4), "pronoun": (0.5, 2), "nominal": (1.0, 2)}
    rules = {
        (r["system"], r["mention"]): r["accuracy"]
        for r in rows(measured(planted_documents()), "coreference_baseline")
    }
    assert rules["head_match", "all"] == 0.75
    assert rules["nearest", "all"] == 0.25  # the second cat: she stands nearest


@pytest.mark.parametrize("candidates", ["words", "mentions"])
def test_random_heads_agree_with_the_loop(candidates: str) -> None:
    torch.manual_seed(4)
    config = BertConfig(
        vocab_size=40,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=8,
        max_position_embeddings=40,
        initializer_range=0.6,
    )
    model = load(BertModel(config).eval(), planted_tokenizer())
    encoded = planted_documents()
    layers: list[Any] = []

    def observer(view: View) -> None:
        layers.append(view.pattern.double().numpy())

    with torch.inference_mode(), Tap(model.model, observer=observer) as tap:
        tap.forward(collate(encoded, pad_id=model.pad_id))
    right: Counter[tuple[int, int, str]] = Counter()
    tried: Counter[str] = Counter()
    for i, one in enumerate(encoded):
        mentions = sorted(one.sequence.mentions or (), key=lambda m: m.start)
        token = {w: t for t, w in enumerate(one.words.tolist()) if w >= 0}
        for k, mention in enumerate(mentions):
            earlier = mentions[:k]
            goals = {m.start for m in earlier if m.entity == mention.entity}
            if not goals:
                continue
            form = one.sequence.word_text(mention.start)
            names = ("all", "pronoun" if form in ("she", "he") else "nominal")
            tried.update(names)
            others = set(token) if candidates == "words" else {m.start for m in earlier}
            for layer, maps in enumerate(layers):
                for head in range(4):
                    row = maps[i][head][token[mention.start]]
                    best = max(others - {mention.start}, key=lambda w, row=row: row[token[w]])
                    for name in names:
                        right[layer, head, name] += best in goals
    table = rows(measured(encoded, model, candidates=candidates), "coreference")
    assert len(table) == 2 * 4 * 3
    for row in table:
        assert row["n"] == tried[row["mention"]]
        hits = right[row["layer"], row["head"], row["mention"]]
        assert row["accuracy"] == pytest.approx(hits / row["n"])
    assert sum(right.values())


def test_no_links_give_no_table() -> None:
    assert measured(planted_documents()[2:]).tables == {}
