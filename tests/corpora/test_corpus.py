"""A corpus as a whole: order, ids, limits, samples, shards, fingerprints."""

from __future__ import annotations

import pickle
import tracemalloc
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from headscope.corpora import Corpus, ReadOptions
from headscope.corpora.identity import UniqueIds
from headscope.corpora.sampling import sample_in_order
from headscope.errors import InputError
from headscope.types import Sequence, Word

Write = Callable[[str, str | bytes], Path]


@pytest.fixture
def numbers(write: Write) -> Path:
    return write("n.txt", "".join(f"line {i}\n" for i in range(100)))


def test_several_files_keep_their_order_and_names(write: Write, tmp_path: Path) -> None:
    one = write("dev.txt", "a\nb\n")
    (tmp_path / "more").mkdir()
    two = write("more/dev.txt", "c\n")
    corpus = Corpus([one, two])
    assert [(s.id, s.text) for s in corpus] == [("dev:1", "a"), ("dev:2", "b"), ("dev#2:1", "c")]
    assert [f.n_sequences for f in corpus.scan().files] == [2, 1]
    assert [s.id for s in corpus] == [s.id for s in corpus]


def test_given_ids_are_made_unique(write: Write) -> None:
    path = write(
        "i.jsonl",
        '{"text": "a"}\n{"text": "b", "id": "i:1"}\n{"text": "c", "id": "i:1"}\n'
        '{"text": "d", "id": "x"}\n{"text": "e", "id": "x"}\n{"text": "f", "id": "x#2"}\n',
    )
    assert [s.id for s in Corpus(path)] == ["i:1", "i:1#2", "i:1#3", "x", "x#2", "x#2#2"]


def test_many_equal_ids_cost_no_more() -> None:
    ids = UniqueIds()
    names = [ids.name("a", n, "same") for n in range(1, 20_001)]
    assert len(set(names)) == len(names)


def test_limit_and_ranges(numbers: Path) -> None:
    corpus = Corpus(numbers, limit=10)
    texts = [s.text for s in corpus]
    assert texts == [f"line {i}" for i in range(10)]
    shards = [[s.text for s in corpus.sequences(a, a + 4)] for a in (0, 4, 8)]
    assert [text for shard in shards for text in shard] == texts
    assert [s.text for s in corpus.sequences(2, 4)] == texts[2:4]
    assert list(corpus.sequences(10, 20)) == []


def test_shards_in_order_read_the_file_once(numbers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = Counter[str]()
    original = Path.open

    def counting(self: Path, *args: object, **more: object) -> object:
        opened[self.name] += 1
        return original(self, *args, **more)  # type: ignore[call-overload]

    monkeypatch.setattr(Path, "open", counting)
    corpus = Corpus(numbers)
    for start in range(0, 100, 10):
        assert len(list(corpus.sequences(start, start + 10))) == 10
    assert opened["n.txt"] == 1


def test_sample_is_a_sorted_subset_and_depends_on_the_seed(numbers: Path) -> None:
    whole = [s.id for s in Corpus(numbers)]
    one = [s.id for s in Corpus(numbers, sample=20, seed=1)]
    assert len(set(one)) == 20
    assert one == [i for i in whole if i in set(one)]
    assert one == [s.id for s in Corpus(numbers, sample=20, seed=1)]
    assert one != [s.id for s in Corpus(numbers, sample=20, seed=2)]
    assert [s.id for s in Corpus(numbers, sample=500)] == whole
    within = Corpus(numbers, limit=30, sample=10)
    assert all(int(s.id.split(":")[1]) <= 30 for s in within)
    assert (within.scan().n_sequences, within.scan().n_read) == (10, 30)


def test_sample_is_uniform() -> None:
    drawn = Counter(i for seed in range(2000) for i in sample_in_order(range(10), 10, 3, seed))
    # 600 expected for each; the standard deviation is sqrt(2000 * 0.3 * 0.7) = 20.5.
    assert all(abs(drawn[i] - 600) < 5 * 20.5 for i in range(10))


def test_summary_counts_annotations() -> None:
    words = (Word(0, 0, 2),)
    corpus = Corpus.of(["a", ("b", "c"), Sequence("w", "hi", words=words)])
    summary = corpus.scan()
    assert summary.annotations == {"pair": 1, "words": 1}
    assert summary.n_sequences == 3
    assert [s.id for s in corpus] == ["list:1", "list:2", "w"]


def test_fingerprint(write: Write, tmp_path: Path) -> None:
    one = write("a.txt", "x\ny\n")
    (tmp_path / "b").mkdir()
    same = write("b/a.txt", "x\ny\n")
    other = write("b/c.txt", "x\nz\n")

    def mark(path: Path, **more: object) -> str:
        return Corpus(path, **more).scan().fingerprint  # type: ignore[arg-type]

    assert mark(one) == mark(same)
    different = {
        mark(one),
        mark(other),
        mark(one, limit=1),
        mark(one, sample=1),
        mark(one, sample=1, seed=3),
        mark(one, options=ReadOptions(pair=True)),
    }
    assert len(different) == 6
    assert mark(one, seed=3) == mark(one)


def test_wrong_sequences_from_python_are_refused() -> None:
    with pytest.raises(InputError, match="words in order"):
        Corpus.of([Sequence("s", "ab", words=(Word(0, 1, 2), Word(0, 0, 1)))])
    with pytest.raises(InputError, match="without words"):
        Corpus.of([Sequence("s", "ab", pos=("X",))])
    with pytest.raises(InputError, match="an empty text"):
        Corpus.of(["a", " "]).scan()


def test_a_corpus_travels_to_other_processes(numbers: Path) -> None:
    corpus = Corpus(numbers)
    list(corpus.sequences(0, 3))
    copy = pickle.loads(pickle.dumps(corpus))
    assert [s.text for s in copy.sequences(3, 4)] == ["line 3"]


def test_memory_is_flat(write: Write) -> None:
    def peak(n: int) -> int:
        corpus = Corpus(write(f"{n}.txt", "some words in a line\n" * n), sample=10)
        tracemalloc.start()
        for _ in corpus:
            pass
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(10)
    assert peak(6000) < peak(300) + 100_000
