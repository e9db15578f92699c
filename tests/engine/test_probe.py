"""Head-wise probing from files to a run: planted heads, resuming, refusals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import headscope as hs
from headscope.engine.probe import ProbeSettings, probe
from headscope.figures import available, draw
from headscope.models import LoadedModel
from headscope.probes.probe_task import ProbeTask
from headscope.probes.task_files import read_task
from headscope.store import Run
from tests.planted import CAUSAL_VOCABULARY, planted, planted_causal
from tests.said import Headscope

FILLERS = ("big", "small", "red", "old")
SETTINGS = ProbeSettings(controls=3, permutations=199)


def first_word_task(path: Path, n: int = 300, seed: int = 0) -> Path:
    """The label is which of two words comes first; both are always there.

    At [CLS] only the planted head that looks at the next token sees it: its output says which
    token stands at position 1. All other heads see themselves, delimiters or averages.
    """
    random = np.random.default_rng(seed)
    lines = []
    for i in range(n):
        words = ["cat", "dog"] if i % 2 else ["dog", "cat"]
        fill = list(random.choice(FILLERS, random.integers(1, 6)))
        part = ("tr", "tr", "tr", "va", "te")[(i // 2) % 5]
        lines.append(f"{part}\t{words[0].upper()}\t{words[0]} {' '.join(fill)} {words[1]}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def last_word_task(path: Path, n: int = 300, seed: int = 0) -> Path:
    """The label is the last word but one; both words are always there, at random places."""
    random = np.random.default_rng(seed)
    lines = []
    for i in range(n):
        words = ["cat", "dog"] if i % 2 else ["dog", "cat"]
        fill = list(random.choice(FILLERS, random.integers(1, 6)))
        part = ("tr", "tr", "tr", "va", "te")[(i // 2) % 5]
        text = f"{words[0]} {' '.join(fill)} {words[1]} on"
        lines.append(f"{part}\t{words[1]}\t{text}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def heads_of(run: Run, task: str) -> dict[str, dict[str, float]]:
    rows = [
        r
        for r in run.table("probe").to_pylist()
        if r["task"] == task and r["representation"] == "head"
    ]
    return {f"{r['layer'] + 1}-{r['head'] + 1}": r for r in rows}


@pytest.fixture(scope="module")
def planted_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("planted")
    task = read_task(str(first_word_task(folder / "first_word.txt")))
    return probe(planted(n_layers=1), [task], folder / "run", settings=SETTINGS)


def test_the_head_that_sees_the_label_scores_one_and_shuffled_labels_chance(
    planted_run: Run,
) -> None:
    found = heads_of(planted_run, "first_word")
    assert len(found) == 8
    knows = found.pop("1-3")  # the next token
    assert knows["test"] == knows["validation"] == 1.0
    assert knows["ci_high"] == 1.0
    assert 0.9 < knows["ci_low"] < 1.0
    assert knows["rank"] == 1
    assert knows["p_value"] == pytest.approx(1 / 200)
    assert knows["q_value"] < 0.05
    assert abs(knows["control"] - 0.5) < 0.2
    for name, row in found.items():
        assert abs(row["test"] - 0.5) < 0.2, name
        assert row["q_value"] > 0.05, name


def test_layers_that_carry_nothing_score_chance_and_top_heads_one(planted_run: Run) -> None:
    rows = planted_run.table("probe").to_pylist()
    last, best = (next(r for r in rows if r["representation"] == k) for k in ("last", "best"))
    # the planted layers hand on the embeddings: at [CLS] the same for every text
    assert last["test"] == best["test"] == 0.5
    assert last["layer"] == best["layer"] == 0
    curve = {r["n_heads"]: r for r in rows if r["representation"] == "top_n"}
    assert list(curve) == [1, 2, 3, 4, 6, 8]
    assert all(r["test"] == 1.0 for r in curve.values())
    assert curve[8]["control"] == pytest.approx(0.5, abs=0.25)
    assert np.isnan(curve[4]["control"])


def test_what_is_told_about_the_task(planted_run: Run) -> None:
    (about,) = planted_run.table("probe_tasks").to_pylist()
    parts = (about["n_train"], about["n_validation"], about["n_test"])
    assert parts == (180, 60, 60)
    assert about["n_classes"] == 2
    assert about["chance"] == 0.5
    assert "probe_groups" not in planted_run.tables
    assert not (planted_run.path / "checkpoints").exists()
    sentence = draw(planted_run, "probe").sentence
    assert "1-3, chosen on validation rows, scores 100.0 %" in sentence
    assert {f.name for f in available(planted_run)} >= {"probe", "probe_sorted", "probe_curve"}


def test_a_causal_model_is_read_at_its_last_real_token(tmp_path: Path) -> None:
    """Texts of different lengths share a batch: padding is not taken for the last token."""
    assert {"cat", "dog", "on", *FILLERS} <= set(CAUSAL_VOCABULARY)
    task = read_task(str(last_word_task(tmp_path / "last_word.txt")))
    run = probe(planted_causal(), [task], tmp_path / "run", settings=SETTINGS)
    found = heads_of(run, "last_word")
    assert run.record.request.settings["token"] == "last"
    assert found["1-2"]["test"] == 1.0, "the previous token"
    for name in ("1-1", "1-3", "1-4"):  # the first token, itself, everything it may see
        assert abs(found[name]["test"] - 0.5) < 0.2, name


def test_senteval_schedule_and_folds_agree_with_the_planted_label(tmp_path: Path) -> None:
    file = first_word_task(tmp_path / "first_word.txt", n=120)
    for name, settings in (
        ("senteval", ProbeSettings(solver="senteval", controls=2, permutations=99, curve="none")),
        ("folds", ProbeSettings(folds=3, controls=2, permutations=99)),
    ):
        run = probe(planted(1), [read_task(str(file))], tmp_path / name, settings=settings)
        found = heads_of(run, "first_word")
        assert found["1-3"]["validation"] == found["1-3"]["test"] == 1.0, name
        assert found["1-1"]["test"] <= 0.75, name


def test_pairs_are_compared_vector_by_vector(tmp_path: Path) -> None:
    """Whether two texts begin with the same word: |u − v| and u · v of the head that sees it."""
    random = np.random.default_rng(0)
    lines = ["text_a,text_b,label"]
    for i in range(240):
        first = ["cat", "dog"][i % 2]
        second = first if (i // 2) % 2 else {"cat": "dog", "dog": "cat"}[first]
        other = {"cat": "dog", "dog": "cat"}
        fill = random.choice(FILLERS, 2)
        a, b = f"{first} {fill[0]} {other[first]}", f"{second} {fill[1]} {other[second]}"
        lines.append(f"{a},{b},{'same' if first == second else 'other'}")
    file = tmp_path / "pairs.csv"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    task = read_task(str(file))
    assert task.has_pairs
    run = probe(planted(1), [task], tmp_path / "run", settings=SETTINGS)
    found = heads_of(run, "pairs")
    assert found["1-3"]["test"] == 1.0
    assert found["1-1"]["test"] < 0.8
    joint = SETTINGS.model_copy(update={"pairs": "joint"})
    run = probe(planted(1), [task], tmp_path / "joint", settings=joint)
    assert heads_of(run, "pairs")["1-3"]["test"] < 0.8, "one input of two segments: A's word alone"


def test_numbers_are_predicted_by_ridge(tmp_path: Path) -> None:
    """How many words a text has: the place of [SEP] says it, and an average over tokens."""
    random = np.random.default_rng(0)
    lines = []
    for i in range(200):
        n = int(random.integers(2, 9))
        part = ("tr", "tr", "tr", "va", "te")[i % 5]
        lines.append(f"{part}\t{n}\t{' '.join(random.choice(FILLERS, n))}")
    file = tmp_path / "length.txt"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    run = probe(
        planted(1), [read_task(str(file), numbers=True)], tmp_path / "run", settings=SETTINGS
    )
    rows = run.table("probe").to_pylist()
    assert {r["metric"] for r in rows} == {"pearson", "spearman"}
    found = {(r["head"], r["metric"]): r for r in rows if r["representation"] == "head"}
    by_sep = found[4, "pearson"]
    assert by_sep["test"] > 0.99
    assert by_sep["ci_low"] > 0.9
    assert by_sep["p_value"] == pytest.approx(1 / 200)
    assert np.isnan(found[0, "pearson"]["test"]), "a constant predicts nothing"
    assert "0.9" in draw(run, "probe").sentence or "1.000" in draw(run, "probe").sentence


# --- resuming ---------------------------------------------------------------------------------


class Impatient:
    """Interrupts when a stage begins."""

    def __init__(self, at: str) -> None:
        self.at = at

    def stage(self, title: str, total: int | None = None) -> None:
        if title.startswith(self.at):
            raise KeyboardInterrupt

    def advance(self, n: int, n_sequences: int = 0) -> None:
        """Never mind."""


@pytest.mark.parametrize("at", ["Probing first", "Probing second"])
def test_an_interrupted_run_goes_on_and_ends_the_same(
    at: str, tmp_path: Path, planted_bert: LoadedModel
) -> None:
    tasks = [
        read_task(str(first_word_task(tmp_path / f"{name}.txt", n=100, seed=i)))
        for i, name in enumerate(("first", "second"))
    ]
    whole = probe(planted_bert, tasks, tmp_path / "whole", settings=SETTINGS)
    with pytest.raises(KeyboardInterrupt):
        probe(planted_bert, tasks, tmp_path / "cut", settings=SETTINGS, progress=Impatient(at))
    vectors = tmp_path / "cut" / "checkpoints" / "vectors" / "rows.f16"
    kept = vectors.read_bytes()
    resumed = probe(planted_bert, tasks, tmp_path / "cut", settings=SETTINGS, resume=True)
    assert kept, "vectors were not lost"
    name = "tables/probe.parquet"
    assert (whole.path / name).read_bytes() == (resumed.path / name).read_bytes()
    about = [run.table("probe_tasks").to_pydict() for run in (whole, resumed)]
    assert list(about[0]) == list(about[1])
    assert {**about[0], "seconds": []} == {**about[1], "seconds": []}


def test_a_cache_serves_the_next_task(tmp_path: Path, planted_bert: LoadedModel) -> None:
    file = first_word_task(tmp_path / "first.txt", n=60)
    task = read_task(str(file))
    options = {"settings": SETTINGS, "cache": tmp_path / "cache"}
    first = probe(planted_bert, [task], tmp_path / "a", **options)
    second = probe(planted_bert, [task], tmp_path / "b", **options)
    assert first.record.counts["n_new"] > 0
    assert second.record.counts["n_new"] == 0
    name = "tables/probe.parquet"
    assert (first.path / name).read_bytes() == (second.path / name).read_bytes()


# --- the command line -------------------------------------------------------------------------


def test_the_verb_says_what_it_found(
    headscope: Headscope, planted_folder: Path, tmp_path: Path
) -> None:
    one = first_word_task(tmp_path / "one.txt", n=60)
    two = first_word_task(tmp_path / "two.txt", n=60, seed=1)
    said = headscope(
        "probe", planted_folder, "--task", one, two, "-o", tmp_path / "run", "--controls", "1"
    )
    assert said.code == 0, said.err
    assert "1-3, chosen on validation rows, scores 100.0 %" in said.out
    assert (tmp_path / "run" / "report.html").stat().st_size > 1000
    run = hs.open_run(tmp_path / "run")
    assert set(run.table("probe").column("task").to_pylist()) == {"one", "two"}
    passport = run.head("1-3").to_dict()
    assert "What its output knows" in str(passport)


BAD = {
    "one class only": ("tr\tA\tcat\nva\tA\tdog\nte\tA\tcat\ntr\tA\tdog\nte\tA\tdog\n", "one class"),
    "absent from train": (
        "tr\tA\tcat\ntr\tB\tdog\nva\tA\tcat\nte\tC\tbird\nte\tA\tcat\n",
        ":4: found the class 'C' in test but not in train",
    ),
    "missing label": ("tr\tA\tcat\ntr\t\tdog\nte\tA\tcat\n", ":2: found no label"),
    "unknown part": ("tr\tA\tcat\nxx\tB\tdog\n", ":2: found the part 'xx'; expected tr, va or te"),
    "no test rows": ("tr\tA\tcat\ntr\tB\tdog\nva\tB\tdog\n", "found 0 rows for test"),
    "columns": ("tr\tA\tcat\ntr\tB\n", ":2: found 2 columns; expected 3"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_refused_before_any_work(
    name: str, headscope: Headscope, planted_folder: Path, tmp_path: Path
) -> None:
    content, message = BAD[name]
    file = tmp_path / "bad.txt"
    file.write_text(content, encoding="utf-8")
    said = headscope("probe", planted_folder, "--task", file, "-o", tmp_path / "run")
    assert said.code == 2
    assert message in said.err, said.err
    assert not (tmp_path / "run").exists()


def test_other_refusals(headscope: Headscope, planted_folder: Path, tmp_path: Path) -> None:
    file = first_word_task(tmp_path / "task.txt", n=60)
    output = tmp_path / "run"
    for arguments, message in (
        (("--task", "no/such.txt"), "no such file"),
        (("--task", "MRPC"), "no data for MRPC; expected --data DIR"),
        (("--task", "nonsense"), "unknown task 'nonsense'"),
        (("--task", "squad"), "has no label per text"),
        (("--task", file, file), "two tasks are named 'task'"),
        (("--task", file, "--folds", "50"), "50 folds of 48 rows of task: too many"),
        (("--task", file, "--cache", file), "is a file"),
    ):
        said = headscope("probe", planted_folder, *arguments, "-o", output)
        assert (said.code, message in said.err) == (2, True), said.err


def test_a_cache_of_another_model_is_refused(
    headscope: Headscope, planted_folder: Path, tmp_path: Path
) -> None:
    file = first_word_task(tmp_path / "task.txt", n=60)
    cache = tmp_path / "cache"
    fast = ("--controls", "0", "--curve", "none")
    said = headscope(
        "probe", planted_folder, "--task", file, "-o", tmp_path / "a", "--cache", cache, *fast
    )
    assert said.code == 0, said.err
    other = planted()
    other.model.embeddings.word_embeddings.weight.data[10] += 1.0
    other.model.save_pretrained(tmp_path / "other")
    other.tokenizer.save_pretrained(tmp_path / "other")
    said = headscope(
        "probe", tmp_path / "other", "--task", file, "-o", tmp_path / "b", "--cache", cache, *fast
    )
    assert said.code == 2
    assert "holds sentence vectors of another kind\n  model: " in said.err
    said = headscope(
        "probe", planted_folder, "--task", file, "-o", tmp_path / "c", "--cache", cache,
        "--token", "mean", *fast,
    )  # fmt: skip
    assert said.code == 2
    assert "token: first there, mean asked for" in said.err


def test_two_models_side_by_side(headscope: Headscope, tmp_path: Path, planted_run: Run) -> None:
    task = read_task(str(first_word_task(tmp_path / "first_word.txt")))
    deeper = probe(planted(n_layers=3), [task], tmp_path / "deeper", settings=SETTINGS)
    said = headscope("compare", planted_run.path, deeper.path, "-o", tmp_path / "both")
    assert said.code == 0, said.err
    assert "top 8 1.000" in said.out
    both = hs.open_run(tmp_path / "both")
    picture = draw(both, "probe_models")
    assert "points above shuffled labels" in picture.sentence
    other = read_task(str(first_word_task(tmp_path / "other_word.txt", n=60)))
    stranger = probe(planted(1), [other], tmp_path / "stranger", settings=SETTINGS)
    said = headscope("compare", planted_run.path, stranger.path)
    assert (said.code, "no task in common" in said.err) == (2, True)


def test_tables_without_parts_are_divided(tmp_path: Path) -> None:
    file = tmp_path / "reviews.csv"
    rows = "".join(f'"the {w}, it ran",{w}\n' for w in ("cat", "dog") * 25)
    file.write_text("sentence,label\n" + rows, encoding="utf-8")
    task: ProbeTask = read_task(str(file))
    assert np.bincount(task.parts).tolist() == [40, 5, 5]
    assert task.classes == ("cat", "dog")
    assert (read_task(str(file)).parts == task.parts).all()
