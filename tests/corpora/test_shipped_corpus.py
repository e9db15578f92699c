"""The shipped corpus is well-formed, linguistically consistent and as large as promised."""

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from pathlib import Path

import conllu
import pytest

import headscope

CORPUS = Path(headscope.__file__).parent / "corpora" / "shipped" / "passages.conllu"

UPOS = frozenset(
    [
        "ADJ",
        "ADP",
        "ADV",
        "AUX",
        "CCONJ",
        "DET",
        "INTJ",
        "NOUN",
        "NUM",
        "PART",
        "PRON",
        "PROPN",
        "PUNCT",
        "SCONJ",
        "SYM",
        "VERB",
        "X",
    ]
)
DEPRELS = frozenset(
    [
        "acl",
        "advcl",
        "advmod",
        "amod",
        "appos",
        "aux",
        "case",
        "cc",
        "ccomp",
        "clf",
        "compound",
        "conj",
        "cop",
        "csubj",
        "dep",
        "det",
        "discourse",
        "dislocated",
        "expl",
        "fixed",
        "flat",
        "goeswith",
        "iobj",
        "list",
        "mark",
        "nmod",
        "nsubj",
        "nummod",
        "obj",
        "obl",
        "orphan",
        "parataxis",
        "punct",
        "reparandum",
        "root",
        "vocative",
        "xcomp",
    ]
)
ENTITY_TYPES = frozenset(
    ["person", "place", "organization", "object", "animal", "event", "abstract", "time"]
)
CORE_ARGUMENTS = frozenset(["nsubj", "obj", "iobj", "csubj", "ccomp", "xcomp"])
FUNCTION_DEPRELS = frozenset(["aux", "case", "cc", "cop", "det", "mark", "punct"])
NEGATORS = frozenset(["not", "never", "no", "nobody", "none", "neither", "nothing", "nor"])
QUANTIFIED_NEGATORS = frozenset(NEGATORS - {"not", "never"})


@dataclass(frozen=True)
class Word:
    """One syntactic word."""

    id: int
    form: str
    lemma: str
    upos: str
    xpos: str
    head: int
    deprel: str
    misc: dict[str, str | None]

    @property
    def relation(self) -> str:
        """The universal part of the relation."""
        return self.deprel.split(":")[0]


@dataclass(frozen=True)
class Mention:
    """One mention of an entity: an inclusive range of word ids of one sentence."""

    entity: str
    etype: str
    first: int
    last: int
    head: int


@dataclass(frozen=True)
class Frame:
    """One frame instance: inclusive word-id ranges of the target and the core elements."""

    name: str
    target: tuple[int, int]
    elements: tuple[tuple[str, tuple[int, int]], ...]


@dataclass
class Sentence:
    """One annotated sentence."""

    document: str
    sent_id: str
    text: str
    words: list[Word]
    surface: str
    frames: list[Frame] = field(default_factory=list)

    def word(self, word_id: int) -> Word:
        """The word with that id (ids start at one)."""
        return self.words[word_id - 1]

    def children(self, word_id: int) -> list[Word]:
        """The dependants of a word."""
        return [word for word in self.words if word.head == word_id]


def _range(text: str) -> tuple[int, int]:
    first, _, last = text.partition("-")
    return int(first), int(last or first)


def _frame(line: str) -> Frame:
    name, target, *elements = line.split()
    pairs = (element.split("=") for element in elements)
    return Frame(name, _range(target), tuple((fe, _range(span)) for fe, span in pairs))


def _surface(tokens: conllu.TokenList) -> str:
    pieces: list[str] = []
    covered = 0
    for token in tokens:
        token_id = token["id"]
        first, last = (token_id[0], token_id[2]) if isinstance(token_id, tuple) else (token_id,) * 2
        if first <= covered:
            continue
        covered = last
        space = "" if (token["misc"] or {}).get("SpaceAfter") == "No" else " "
        pieces.append(token["form"] + space)
    return "".join(pieces).rstrip()


@cache
def _sentences() -> tuple[Sentence, ...]:
    raw = CORPUS.read_text(encoding="utf-8")
    parsed = conllu.parse(raw)
    blocks = raw.strip().split("\n\n")
    assert len(parsed) == len(blocks)
    document = ""
    sentences: list[Sentence] = []
    for tokens, block in zip(parsed, blocks, strict=True):
        document = tokens.metadata.get("newdoc id", document)
        words = [
            Word(
                id=token["id"],
                form=token["form"],
                lemma=token["lemma"],
                upos=token["upos"],
                xpos=token["xpos"],
                head=token["head"],
                deprel=token["deprel"],
                misc=token["misc"] or {},
            )
            for token in tokens
            if isinstance(token["id"], int)
        ]
        # Repeated comment keys overwrite each other in the metadata: read the lines themselves.
        frames = [_frame(line) for line in re.findall(r"^# frame = (.+)$", block, re.MULTILINE)]
        sentences.append(
            Sentence(
                document=document,
                sent_id=tokens.metadata["sent_id"],
                text=tokens.metadata["text"],
                words=words,
                surface=_surface(tokens),
                frames=frames,
            )
        )
    return tuple(sentences)


def _mentions(sentence: Sentence) -> list[Mention]:
    """Read the brackets of one sentence; fail on anything unbalanced."""
    mentions: list[Mention] = []
    stack: list[tuple[str, str, int, int]] = []
    for word in sentence.words:
        events = word.misc.get("Entity") or ""
        rest = events
        while rest:
            if opened := re.match(r"\((e\d+)-([a-z]+)-(\d+)", rest):
                stack.append((opened[1], opened[2], word.id, int(opened[3])))
                rest = rest[opened.end() :]
                if rest.startswith(")"):
                    entity, etype, first, head = stack.pop()
                    mentions.append(Mention(entity, etype, first, word.id, first + head - 1))
                    rest = rest[1:]
            elif closed := re.match(r"(e\d+)\)", rest):
                assert stack, f"{sentence.sent_id}: {events} closes nothing"
                entity, etype, first, head = stack.pop()
                assert entity == closed[1], f"{sentence.sent_id}: crossing brackets at {events}"
                mentions.append(Mention(entity, etype, first, word.id, first + head - 1))
                rest = rest[closed.end() :]
            else:
                pytest.fail(f"{sentence.sent_id}: unreadable Entity={events}")
    assert not stack, f"{sentence.sent_id}: bracket left open"
    return mentions


def _distance(first: tuple[int, int], second: tuple[int, int]) -> int:
    """The distance of the two nearest words of two ranges; 0 or less if they overlap."""
    return max(second[0] - first[1], first[0] - second[1])


def _passages() -> dict[str, list[Sentence]]:
    passages: dict[str, list[Sentence]] = {}
    for sentence in _sentences():
        passages.setdefault(sentence.document, []).append(sentence)
    return passages


# --- size and layout ----------------------------------------------------------------------


def test_size() -> None:
    lengths = [len(sentence.words) for sentence in _sentences()]
    assert len(lengths) >= 120
    assert min(lengths) >= 5
    assert max(lengths) <= 25
    assert 11 <= sum(lengths) / len(lengths) <= 13


def test_every_passage_has_two_sentences() -> None:
    passages = _passages()
    assert len(passages) >= 40
    assert {len(sentences) for sentences in passages.values()} == {2}
    for document, sentences in passages.items():
        assert [s.sent_id for s in sentences] == [f"{document}-1", f"{document}-2"]


def test_sentences_are_unique() -> None:
    texts = Counter(sentence.text for sentence in _sentences())
    assert max(texts.values()) == 1
    ids = Counter(sentence.sent_id for sentence in _sentences())
    assert max(ids.values()) == 1


def test_entity_format_is_declared_on_the_first_line() -> None:
    first, *_ = CORPUS.read_text(encoding="utf-8").splitlines()
    assert first == "# global.Entity = eid-etype-head"


def test_text_is_the_joined_forms() -> None:
    for sentence in _sentences():
        assert sentence.surface == sentence.text


def test_ids_are_consecutive() -> None:
    for sentence in _sentences():
        assert [word.id for word in sentence.words] == list(range(1, len(sentence.words) + 1))


def test_every_word_has_a_lemma_and_a_penn_tag() -> None:
    for sentence in _sentences():
        for word in sentence.words:
            assert word.lemma not in ("", "_")
            assert word.xpos not in ("", "_")


def test_multiword_tokens_are_present_and_split_at_a_clitic() -> None:
    clitics = {"n't", "'s", "'ll", "'m", "'ve"}
    seen: set[str] = set()
    for tokens in conllu.parse(CORPUS.read_text(encoding="utf-8")):
        forms = {token["id"]: token["form"] for token in tokens}
        for token_id, form in forms.items():
            if isinstance(token_id, tuple):
                parts = [forms[i] for i in range(token_id[0], token_id[2] + 1)]
                assert "".join(parts) == form
                assert parts[-1] in clitics
                seen.add(parts[-1])
    assert seen == clitics


# --- trees --------------------------------------------------------------------------------


def test_inventories() -> None:
    for sentence in _sentences():
        for word in sentence.words:
            assert word.upos in UPOS, (sentence.sent_id, word)
            assert word.relation in DEPRELS, (sentence.sent_id, word)


def test_one_root_and_heads_in_range() -> None:
    for sentence in _sentences():
        roots = [word for word in sentence.words if word.head == 0]
        assert len(roots) == 1, sentence.sent_id
        assert roots[0].deprel == "root"
        assert sum(word.deprel == "root" for word in sentence.words) == 1
        for word in sentence.words:
            assert 0 <= word.head <= len(sentence.words)
            assert word.head != word.id


def test_no_cycle() -> None:
    for sentence in _sentences():
        for word in sentence.words:
            steps, current = 0, word
            while current.head:
                current = sentence.word(current.head)
                steps += 1
                assert steps <= len(sentence.words), f"cycle in {sentence.sent_id}"


def test_punctuation_is_a_leaf() -> None:
    for sentence in _sentences():
        for word in sentence.words:
            assert (word.upos == "PUNCT") == (word.relation == "punct"), (sentence.sent_id, word)
            if word.upos == "PUNCT":
                assert not sentence.children(word.id), (sentence.sent_id, word)


def test_function_words_have_no_core_arguments() -> None:
    for sentence in _sentences():
        for word in sentence.words:
            if word.relation in FUNCTION_DEPRELS:
                relations = {child.relation for child in sentence.children(word.id)}
                assert not relations & CORE_ARGUMENTS, (sentence.sent_id, word)
                assert not relations - {"advmod", "fixed", "punct"}, (sentence.sent_id, word)


def test_head_initial_relations_point_leftward() -> None:
    for sentence in _sentences():
        for word in sentence.words:
            if word.relation in {"conj", "flat", "fixed", "appos", "goeswith"}:
                assert word.head < word.id, (sentence.sent_id, word)
                assert sentence.word(word.head).relation not in {"flat", "fixed"}


def test_prenominal_relations_point_rightward() -> None:
    for sentence in _sentences():
        for word in sentence.words:
            if word.relation == "det" or word.deprel in {"nmod:poss", "nmod:desc"}:
                assert word.head > word.id, (sentence.sent_id, word)
            if word.relation in {"aux", "cop"} and "?" not in sentence.text:
                assert word.head > word.id, (sentence.sent_id, word)


def test_coordinators_precede_a_conjunct_or_open_the_sentence() -> None:
    for sentence in _sentences():
        for word in sentence.words:
            if word.deprel == "cc":
                head = sentence.word(word.head)
                assert word.id < head.id
                assert head.relation in {"conj", "root"}, (sentence.sent_id, word)


def test_word_classes_fit_the_relations() -> None:
    allowed = {
        "aux": {"AUX"},
        "cop": {"AUX"},
        "cc": {"CCONJ"},
        "det": {"DET"},
        "nummod": {"NUM"},
        "case": {"ADP", "PART"},
        "mark": {"SCONJ", "PART"},
        "amod": {"ADJ", "VERB"},
    }
    for sentence in _sentences():
        for word in sentence.words:
            if word.relation in allowed:
                assert word.upos in allowed[word.relation], (sentence.sent_id, word)


def test_at_most_one_subject_and_object() -> None:
    for sentence in _sentences():
        for word in sentence.words:
            relations = Counter(child.relation for child in sentence.children(word.id))
            for relation in ("nsubj", "obj", "iobj", "cop"):
                assert relations[relation] <= 1, (sentence.sent_id, word, relation)
            assert relations["iobj"] <= relations["obj"] + relations["ccomp"]


def test_passives_are_marked_on_subject_and_auxiliary() -> None:
    for sentence in _sentences():
        for word in sentence.words:
            if word.deprel == "nsubj:pass":
                siblings = {child.deprel for child in sentence.children(word.head)}
                assert "aux:pass" in siblings, (sentence.sent_id, word)
                assert sentence.word(word.head).xpos == "VBN"


def test_almost_every_tree_is_projective() -> None:
    crossing: list[str] = []
    for sentence in _sentences():
        arcs = [tuple(sorted((word.id, word.head))) for word in sentence.words if word.head]
        if any(a < c < b < d for a, b in arcs for c, d in arcs):
            crossing.append(sentence.sent_id)
    # The stranded preposition of "whom nobody had heard of" crosses, as it should.
    assert len(crossing) == 1


# --- coreference --------------------------------------------------------------------------


def test_mentions_are_well_formed() -> None:
    for sentence in _sentences():
        for mention in _mentions(sentence):
            assert 1 <= mention.first <= mention.head <= mention.last <= len(sentence.words)
            assert mention.etype in ENTITY_TYPES


def test_the_head_of_a_mention_governs_it() -> None:
    for sentence in _sentences():
        for mention in _mentions(sentence):
            inside = range(mention.first, mention.last + 1)
            tops = [i for i in inside if sentence.word(i).head not in inside]
            assert tops == [mention.head], (sentence.sent_id, mention)


def test_no_span_is_mentioned_twice() -> None:
    for sentence in _sentences():
        spans = Counter((m.first, m.last) for m in _mentions(sentence))
        assert not spans or max(spans.values()) == 1, sentence.sent_id


def test_chains() -> None:
    documents: dict[str, set[str]] = {}
    types: dict[str, set[str]] = {}
    sizes: Counter[str] = Counter()
    for sentence in _sentences():
        for mention in _mentions(sentence):
            documents.setdefault(mention.entity, set()).add(sentence.document)
            types.setdefault(mention.entity, set()).add(mention.etype)
            sizes[mention.entity] += 1
    assert len(sizes) >= 90
    assert min(sizes.values()) >= 2
    assert all(len(found) == 1 for found in documents.values())
    assert all(len(found) == 1 for found in types.values())


def test_most_passages_have_a_chain_across_their_sentences() -> None:
    linked = 0
    for first, second in _passages().values():
        entities = {mention.entity for mention in _mentions(first)}
        linked += any(mention.entity in entities for mention in _mentions(second))
    assert linked >= 58


def test_mentions_of_every_form() -> None:
    upos = Counter(s.word(m.head).upos for s in _sentences() for m in _mentions(s))
    assert upos["PRON"] >= 120
    assert upos["PROPN"] >= 20
    assert upos["NOUN"] >= 60


# --- frames -------------------------------------------------------------------------------


def test_frames_point_into_the_sentence() -> None:
    for sentence in _sentences():
        for frame in sentence.frames:
            names = [name for name, _ in frame.elements]
            assert names, (sentence.sent_id, frame)
            assert len(set(names)) == len(names)
            for first, last in (frame.target, *(span for _, span in frame.elements)):
                assert 1 <= first <= last <= len(sentence.words), (sentence.sent_id, frame)


def test_frame_spans_do_not_overlap() -> None:
    for sentence in _sentences():
        for frame in sentence.frames:
            spans = sorted([frame.target, *(span for _, span in frame.elements)])
            for before, after in pairwise(spans):
                assert before[1] < after[0], (sentence.sent_id, frame)


def test_frame_elements_are_not_cut_in_the_middle_of_a_phrase() -> None:
    """Every element is one connected subgraph: exactly one of its words is governed outside."""
    for sentence in _sentences():
        for frame in sentence.frames:
            for name, (first, last) in frame.elements:
                inside = range(first, last + 1)
                tops = [i for i in inside if sentence.word(i).head not in inside]
                assert len(tops) == 1, (sentence.sent_id, frame.name, name)


def test_frame_targets_are_unique() -> None:
    for sentence in _sentences():
        targets = [frame.target for frame in sentence.frames]
        assert len(set(targets)) == len(targets), sentence.sent_id


def test_frame_counts() -> None:
    names = Counter(frame.name for s in _sentences() for frame in s.frames)
    assert names.total() >= 120
    assert len(names) >= 35
    assert all(re.fullmatch(r"[A-Z][a-z]+(_[a-z]+)*", name) for name in names)


def test_enough_pairs_pass_the_usual_filters() -> None:
    """Short elements of short sentences, at least two words from the target at their nearest."""
    pairs = [
        (sentence.sent_id, frame.name, name)
        for sentence in _sentences()
        if len(sentence.words) <= 12
        for frame in sentence.frames
        for name, (first, last) in frame.elements
        if last - first < 3 and _distance(frame.target, (first, last)) >= 2
    ]
    assert len(pairs) >= 60


# --- variety ------------------------------------------------------------------------------


def _count(*deprels: str) -> int:
    return sum(any(word.deprel in deprels for word in sentence.words) for sentence in _sentences())


def test_variety_of_constructions() -> None:
    assert sum("?" in sentence.text for sentence in _sentences()) >= 12
    assert _count("nsubj:pass", "aux:pass") >= 12
    assert _count("acl:relcl") >= 12
    assert _count("iobj") >= 6
    assert _count("conj") >= 20
    assert _count("compound:prt") >= 4
    assert _count("expl") >= 3
    assert _count("nummod") >= 8
    assert _count("flat") >= 3
    assert _count("appos") >= 3


def test_variety_of_negation() -> None:
    negated = [
        sentence
        for sentence in _sentences()
        if any(word.lemma in NEGATORS and word.upos != "INTJ" for word in sentence.words)
    ]
    assert len(negated) >= 12
    quantified = [s for s in negated if any(w.lemma in QUANTIFIED_NEGATORS for w in s.words)]
    assert len(quantified) >= 5


def test_variety_of_pronouns() -> None:
    lemmas = Counter(w.lemma for s in _sentences() for w in s.words if w.upos == "PRON")
    forms = {w.form.lower() for s in _sentences() for w in s.words if w.upos == "PRON"}
    assert all(lemmas[lemma] >= 3 for lemma in ("he", "she", "it", "they", "we", "I", "you"))
    assert {"himself", "his", "her", "its", "their", "our", "my", "your", "mine"} <= forms
    assert {"who", "which", "that", "what", "whose", "whom"} <= forms


def test_verbless_fragments() -> None:
    verbless = [
        sentence
        for sentence in _sentences()
        if not any(word.upos in {"VERB", "AUX"} for word in sentence.words)
    ]
    assert len(verbless) >= 2
