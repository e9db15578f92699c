"""Scores of roles: worked out by hand on planted heads, and by a plain loop on random ones."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertModel

from headscope.corpora import shipped_corpus
from headscope.engine import Settings
from headscope.engine.plan import encoder_for
from headscope.engine.shard import Values, add, run_shard
from headscope.errors import HeadscopeError, InputError, UsageError
from headscope.measures import Total, build
from headscope.measures.roles import ROLES, load_roles
from headscope.measures.sieve_bias import SieveBias
from headscope.models import LoadedModel, Tap, View, collate, load
from headscope.types import Dependencies, Encoded, Facts, FactsBuilder, TokenKind
from tests.planted import (
    CAUSAL_HEADS,
    HEADS,
    encode_planted,
    encode_planted_causal,
    planted_causal,
    planted_tokenizer,
)

BUILT_IN = {
    "local", "prev_local", "next_local", "block", "delimiter", "cls", "sep", "syntactic", "nsubj",
    "obj", "amod", "advmod", "rare", "bpe", "interrogative",
}  # fmt: skip
TREE = Dependencies((1, 2, -1, 4, 2), ("det", "nsubj", "root", "det", "obj"))
Scores = dict[tuple[str, str], float]


@pytest.fixture(scope="module")
def score(planted_bert: LoadedModel) -> Callable[..., Scores]:
    """Scores of one text by (planted head, role), the same in both layers."""

    def run(encoded: Encoded, facts: Facts | None = None, **parameters: Any) -> Scores:
        measure = SieveBias(**parameters)
        values = run_shard(planted_bert, [measure], [encoded], Settings(), facts)
        total = Total(planted_bert.layout, {place: v for (_, place), v in values.items()})
        table = measure.finish(total).tables["sieve"]
        layers: list[Scores] = [{}, {}]
        for layer, head, role, mean in zip(
            table["layer"], table["head"], table["role"], table["mean"], strict=True
        ):
            layers[layer][HEADS[head], role] = mean
        assert layers[0] == pytest.approx(layers[1], abs=1e-6)
        return layers[0]

    return run


def test_all_roles_are_there() -> None:
    assert set(ROLES) >= BUILT_IN
    assert all(ROLES[name].summary.endswith(".") for name in ROLES)


def test_places_and_delimiters_by_hand(score: Callable[..., Scores]) -> None:
    """[CLS] it sat [SEP] it ran [SEP], n = 7."""
    got = score(encode_planted("it sat", "it ran"))
    expected = {
        ("cls", "cls"): 7.0,  # all weight on one of seven
        ("cls", "delimiter"): 7 / 3,
        ("cls", "sep"): 0.0,
        ("sep", "sep"): 3.5,  # one half on each of two: 1/2 · 7
        ("sep", "delimiter"): 7 / 3,
        ("previous", "prev_local"): (7 + 5 * 3.5) / 6,  # the first token has none before
        ("previous", "next_local"): 0.0,
        ("next", "next_local"): (5 * 3.5 + 7) / 6,
        ("self", "local"): 1 / 3 + 1 / 4 + 3 / 5 + 1 / 4 + 1 / 3,  # sieves of 3, 4, 5, 5, 5, 4, 3
        ("segment", "block"): (2 * 7 / 4 + 2 * 7 / 3) / 4,
        ("self", "block"): 3.5,
    }
    assert {key: got[key] for key in expected} == pytest.approx(expected, abs=1e-5)
    for role in ("local", "prev_local", "next_local", "block", "delimiter", "cls", "sep"):
        assert got["everywhere", role] == pytest.approx(1.0, abs=1e-6)
    absent = {"syntactic", "nsubj", "obj", "amod", "advmod", "interrogative", "bpe"}
    assert not absent & {role for _, role in got}


def test_syntax_by_hand(score: Callable[..., Scores]) -> None:
    """[CLS] the cat saw the dog [SEP]: every link counts from both ends."""
    text = encode_planted("the cat saw the dog", dependencies=TREE)
    got = score(text)
    expected = {
        ("next", "nsubj"): 3.5,  # cat → saw 7, saw → the 0
        ("previous", "nsubj"): 3.5,
        ("next", "obj"): 0.0,  # saw and dog are two apart
        ("next", "syntactic"): (7 + 3.5 + 0 + 7 + 0) / 5,
        ("previous", "syntactic"): (0 + 3.5 + 3.5 + 0 + 3.5) / 5,
    }
    assert {key: got[key] for key in expected} == pytest.approx(expected, abs=1e-5)
    assert not {"amod", "advmod", "block"} & {role for _, role in got}
    one_way = score(text, direction="dependent_to_head")
    assert one_way["next", "nsubj"] == pytest.approx(7.0, abs=1e-5)
    assert one_way["previous", "nsubj"] == pytest.approx(0.0, abs=1e-5)
    back = score(text, direction="head_to_dependent")
    assert back["previous", "nsubj"] == pytest.approx(7.0, abs=1e-5)


def test_lost_heads_and_roots_link_nothing(score: Callable[..., Scores]) -> None:
    cut = Dependencies((-2, -2, -1, -2, -2), TREE.relations)
    got = score(encode_planted("the cat saw the dog", dependencies=cut))
    assert not {"syntactic", "nsubj", "obj"} & {role for _, role in got}


def test_words_by_hand(score: Callable[..., Scores]) -> None:
    pieces = score(encode_planted("she played"))  # [CLS] she play ##ed [SEP]
    assert pieces["next", "bpe"] == pytest.approx(2.5, abs=1e-5)  # play → ##ed 5, ##ed → [SEP] 0
    asked = score(encode_planted("who ran ?"))
    assert asked["next", "interrogative"] == pytest.approx(1.0, abs=1e-5)  # 5 from one of 5 rows
    facts = Facts(word_counts={"the": 9, "cat": 1, "ran": 4})
    rare = score(encode_planted("the cat ran"), facts)  # [CLS] the cat ran [SEP], rare: cat
    assert rare["next", "rare"] == pytest.approx(1.0, abs=1e-5)
    assert rare["everywhere", "rare"] == pytest.approx(1.0, abs=1e-5)
    assert "rare" not in {role for _, role in score(encode_planted("the cat ran"))}  # no counts


def test_causal_yardstick_by_hand() -> None:
    """<bos> the cat saw: token i may see i + 1 keys."""
    model, measure = planted_causal(), SieveBias()
    text = encode_planted_causal("the cat saw")
    values = run_shard(model, [measure], [text], Settings())
    total = Total(model.layout, {place: v for (_, place), v in values.items()})
    table = measure.finish(total).tables["sieve"]
    rows = zip(table["layer"], table["head"], table["role"], table["mean"], strict=True)
    got = {(CAUSAL_HEADS[0][h], role): mean for layer, h, role, mean in rows if layer == 0}
    assert got["previous", "prev_local"] == pytest.approx((2 + 3 / 2 + 4 / 2) / 3, abs=1e-5)
    assert got["everywhere", "local"] == pytest.approx(1.0, abs=1e-6)
    assert got["everywhere", "prev_local"] == pytest.approx(1.0, abs=1e-6)
    assert not {"next_local", "cls", "sep", "delimiter", "block"} & {role for _, role in got}


# --- a plain loop on a random model -------------------------------------------------------------


@pytest.fixture(scope="module")
def random_bert() -> LoadedModel:
    torch.manual_seed(3)
    config = BertConfig(
        vocab_size=40, hidden_size=24, num_hidden_layers=2, num_attention_heads=3,
        intermediate_size=16, max_position_embeddings=40, initializer_range=1.0,
    )  # fmt: skip
    return load(BertModel(config).eval(), planted_tokenizer())


@pytest.fixture(scope="module")
def passages(random_bert: LoadedModel) -> list[Encoded]:
    outcomes = encoder_for(random_bert, max_tokens=40).encode_many(shipped_corpus(limit=16))
    return [o for o in outcomes if isinstance(o, Encoded)]


def _facts(encoded: list[Encoded]) -> Facts:
    builder = FactsBuilder()
    for one in encoded:
        builder.add(one)
    return builder.build()


def _naive_sieve(role: str, e: Encoded, facts: Facts, q: int) -> set[int]:
    """The keys of a token, straight from the definitions."""
    n, s = e.n_tokens, e.sequence
    keys = range(n)
    near = {"local": (-2, 2), "prev_local": (-2, -1), "next_local": (1, 2)}
    if role in near:
        low, high = near[role]
        return {k for k in keys if low <= k - q <= high}
    if role == "block":
        two = {0, 1} <= set(e.segments.tolist())
        return {k for k in keys if two and e.segments[q] >= 0 and e.segments[k] == e.segments[q]}
    kinds = {"cls": {TokenKind.CLS}, "sep": {TokenKind.SEP}}
    kinds["delimiter"] = kinds["cls"] | kinds["sep"]
    if role in kinds:
        return {k for k in keys if e.kinds[k] in kinds[role]}
    if role == "bpe":
        return {k for k in keys if k != q and e.words[k] == e.words[q] >= 0}
    if role == "interrogative":
        return {
            k for k in keys
            if e.segments[k] >= 0
            and "?" in s.segment_text(e.segments[k])[e.offsets[k, 0] : e.offsets[k, 1]]
        }  # fmt: skip
    if role == "rare":
        counts = sorted(facts.word_counts.values())
        limit = counts[int(np.ceil(0.1 * len(counts))) - 1]
        return {
            k for k in keys
            if e.words[k] >= 0 and facts.word_counts[s.word_text(e.words[k]).lower()] <= limit
        }  # fmt: skip
    assert s.dependencies is not None
    linked = set()
    for i, (head, label) in enumerate(
        zip(s.dependencies.heads, s.dependencies.relations, strict=True)
    ):
        base, _, sub = label.partition(":")
        if head >= 0 and (role == "syntactic" or (base == role and sub != "pass")):
            linked |= {(i, head), (head, i)}
    return {k for k in keys if (e.words[q], e.words[k]) in linked}


def _patterns(model: LoadedModel, e: Encoded) -> list[np.ndarray]:
    views: list[View] = []
    with torch.inference_mode(), Tap(model.model, observer=views.append) as tap:
        tap.forward(collate([e], pad_id=model.pad_id))
    return [view.pattern[0].double().numpy() for view in views]


def test_means_are_those_of_a_plain_loop(random_bert: LoadedModel, passages: list[Encoded]) -> None:
    facts = _facts(passages)
    expected: dict[tuple[int, int, str], list[float]] = {}
    for e in passages:
        patterns = _patterns(random_bert, e)
        for role in BUILT_IN:
            sieves = {q: _naive_sieve(role, e, facts, q) for q in range(e.n_tokens)}
            rows = [q for q in sieves if sieves[q]]
            for layer, pattern in enumerate(patterns):
                for head in range(len(pattern)):
                    biases = [
                        np.mean([pattern[head, q, k] for k in sieves[q]]) * e.n_tokens for q in rows
                    ]
                    if biases:
                        expected.setdefault((layer, head, role), []).append(float(np.mean(biases)))
    measure = SieveBias(roles=sorted(BUILT_IN))
    values = run_shard(random_bert, [measure], passages, Settings(), facts)
    total = Total(random_bert.layout, {place: v for (_, place), v in values.items()})
    table = measure.finish(total).tables["sieve"]
    names = ("layer", "head", "role", "mean", "std", "n")
    got = {
        (row[0], row[1], row[2]): row[3:] for row in zip(*(table[c] for c in names), strict=True)
    }
    assert got.keys() == expected.keys()
    assert {role for _, _, role in got} >= {"syntactic", "block", "rare", "bpe", "local", "sep"}
    for key, scores in expected.items():
        mean, std, n = got[key]
        assert n == len(scores)
        assert mean == pytest.approx(np.mean(scores), rel=2e-5)
        assert std == pytest.approx(np.std(scores, ddof=1), rel=1e-4, abs=1e-5)


def test_batches_and_shards_do_not_matter(
    random_bert: LoadedModel, passages: list[Encoded]
) -> None:
    """Padding enters no number, and the kept sequences are the same however they came."""
    facts, measure = _facts(passages), SieveBias(keep=5, decide_at=3.0)
    whole = run_shard(random_bert, [measure], passages, Settings(), facts)
    parts: Values = {}
    for part in (passages[7:], passages[:3], passages[3:7]):
        add(parts, run_shard(random_bert, [measure], part, Settings(batch_tokens=1), facts))
    tables = []
    for values in (whole, parts):
        total = Total(random_bert.layout, {place: v for (_, place), v in values.items()})
        tables.append(measure.finish(total).tables)
    for name, column in (
        ("sieve", "mean"),
        ("sieve_scores", "score"),
        ("sieve_evidence", "log_e_value"),
    ):
        a, b = tables[0][name], tables[1][name]
        np.testing.assert_allclose(a[column], b[column], rtol=1e-4, atol=1e-5)
        assert list(a["role"]) == list(b["role"])
    assert list(tables[0]["sieve_scores"]["sequence"]) == list(
        tables[1]["sieve_scores"]["sequence"]
    )
    assert len(set(tables[0]["sieve_scores"]["sequence"])) == 5


# --- roles of a user's own ----------------------------------------------------------------------

_MINE = '''
from headscope.measures.roles import role

@role("{name}", across=True)
def mine(batch):
    """The first token."""
    first = batch.tokens.real.clone()
    first[:, 1:] = False
    return first[:, None, :]
'''


def test_a_role_from_a_file(score: Callable[..., Scores], tmp_path: Path) -> None:
    file = tmp_path / "my_roles.py"
    file.write_text(_MINE.format(name="test_first"))
    origin = load_roles(file)
    assert load_roles(file) == origin  # the same file again is no conflict
    try:
        got = score(encode_planted("it sat"), roles=("test_first", "cls"))
        assert got["cls", "test_first"] == pytest.approx(4.0, abs=1e-5)
        measure = build("sieve", {"roles": "test_first,cls"})
        assert measure.spec()["parameters"]["origins"] == {"test_first": origin}
        assert origin.startswith("my_roles.py sha256:")
        with pytest.raises(HeadscopeError, match="come from"):
            build("sieve", {"roles": ("test_first",), "origins": {"test_first": "other.py"}})
        (tmp_path / "again.py").write_text(_MINE.format(name="cls"))
        with pytest.raises(UsageError, match="exists already"):
            load_roles(tmp_path / "again.py")
    finally:
        ROLES._units.pop("test_first")
        sys.modules.pop(f"headscope_roles_{origin[-64:][:16]}")


def test_bad_files_and_bad_roles(score: Callable[..., Scores], tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"missing\.py"):
        load_roles(tmp_path / "missing.py")
    broken = tmp_path / "broken.py"
    broken.write_text("x = 1\nboom\n")
    with pytest.raises(InputError, match=r"broken\.py:2: found NameError"):
        load_roles(broken)
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        "from headscope.measures.roles import role\n"
        "@role('test_wrong')\ndef wrong(batch):\n    return batch.tokens.real.float()\n"
    )
    origin = load_roles(wrong)
    try:
        with pytest.raises(UsageError, match=r"test_wrong.*bool tensor"):
            score(encode_planted("it sat"), roles=("test_wrong",))
    finally:
        ROLES._units.pop("test_wrong")
        sys.modules.pop(f"headscope_roles_{origin[-64:][:16]}")
    with pytest.raises(UsageError, match="unknown role 'locl'"):
        build("sieve", {"roles": "locl"})
    with pytest.raises(UsageError, match="no role"):
        build("sieve", {"roles": ""})
