"""The Ray engine, on a real Ray: the same bytes as here, also when a worker is killed."""

from __future__ import annotations

import os
import random
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import headscope as hs
from headscope.cli import main
from headscope.corpora import Corpus
from headscope.engine import Settings, UntilDecided, analyze, choose_measures
from headscope.engine.ablate import AblationOptions, ablate
from headscope.engine.compare import compare_models
from headscope.engine.executor import Advance, Executor, Item, Packed
from headscope.engine.executors.local import LocalExecutor
from headscope.engine.probe import ProbeSettings, probe
from headscope.engine.progress import Silent
from headscope.engine.task_data import load_for_task, read_part
from headscope.errors import HeadscopeError, InputError, ModelError, UsageError
from headscope.measures.roles import load_roles
from headscope.models import LoadedModel, load
from headscope.probes.task_files import read_task
from headscope.tasks import find_task
from tests.label_head import save_label_data, save_label_model
from tests.planted import planted_tokenizer

pytest.importorskip("ray", reason="the extra 'ray' is not installed")

WORDS = ("the", "cat", "dog", "bird", "sat", "saw", "ran", "ate", "big", "red", "she", "it", "and")
SETTINGS = Settings(shard_size=8, batch_tokens=64)
MEASURES = choose_measures(["surface", "entropy", "sieve", "distance", "divergence"])


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two workers on this machine, for all tests of this file."""
    from headscope.engine.executors.ray import RayExecutor

    with RayExecutor(workers=2, threads=1) as executor:
        yield executor


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    rng = random.Random(0)
    lines = [" ".join(rng.choices(WORDS, k=rng.randint(1, 25))) + "." for _ in range(61)]
    path = tmp_path_factory.mktemp("corpus") / "toy.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return Corpus(path)


@pytest.fixture(scope="module")
def model(planted_folder: Path) -> LoadedModel:
    return load(planted_folder)


@pytest.fixture(scope="module")
def here(model: LoadedModel, corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the local engine writes."""
    path = tmp_path_factory.mktemp("local") / "run"
    return analyze(model, corpus, path, measures=MEASURES, settings=SETTINGS).path


def contents(run: Path) -> dict[str, bytes]:
    """All tables and arrays."""
    files = [p for folder in ("tables", "arrays") for p in sorted((run / folder).glob("*"))]
    return {p.name: p.read_bytes() for p in files}


class _Meddling(Silent):
    """A listener that does something once, when the third shard (or a later batch) is done."""

    def __init__(self, action: Any, after: int = 3) -> None:
        self.action, self.after, self.n_done = action, after, 0

    def advance(self, n: int, n_sequences: int = 0) -> None:
        if n == n_sequences:  # the planning stage counts sequences
            return
        self.n_done += 1
        if self.n_done == self.after:
            self.action()


def test_the_same_bytes_as_the_local_engine(
    cluster: Any, model: LoadedModel, corpus: Corpus, here: Path, tmp_path: Path
) -> None:
    run = analyze(
        model, corpus, tmp_path / "r", measures=MEASURES, settings=SETTINGS, executor=cluster
    )
    assert contents(run.path) == contents(here)
    told = run.record.request.engine
    assert (told["name"], told["workers"], told["threads"]) == ("ray", 2, 1)
    assert 1 <= len(cluster.pids) <= 2  # the second may still start when the first has done all


def test_a_killed_worker_changes_nothing(
    cluster: Any, model: LoadedModel, corpus: Corpus, here: Path, tmp_path: Path
) -> None:
    before = cluster.n_lost
    killer = _Meddling(lambda: os.kill(cluster.pids[0], signal.SIGKILL))
    run = analyze(
        model,
        corpus,
        tmp_path / "r",
        measures=MEASURES,
        settings=SETTINGS,
        executor=cluster,
        progress=killer,
    )
    assert cluster.n_lost == before + 1
    assert contents(run.path) == contents(here)


def _interrupt() -> None:
    raise KeyboardInterrupt


def test_a_run_goes_on_with_another_engine(
    cluster: Any, model: LoadedModel, corpus: Corpus, here: Path, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"measures": MEASURES, "settings": SETTINGS}
    engines: list[tuple[Executor, Executor, int]] = [
        (cluster, LocalExecutor(), 3),
        (LocalExecutor(), cluster, 12),
    ]
    for i, (first, second, after) in enumerate(engines):
        path, plug = tmp_path / str(i), _Meddling(_interrupt, after)
        with pytest.raises(KeyboardInterrupt):
            analyze(model, corpus, path, executor=first, progress=plug, **options)
        assert list((path / "checkpoints").glob("shard-*")), "it came too early to matter"
        analyze(model, corpus, path, executor=second, resume=True, **options)
        assert contents(path) == contents(here)


def test_it_stops_where_the_local_engine_does(
    cluster: Any, model: LoadedModel, corpus: Corpus, tmp_path: Path
) -> None:
    settings = Settings(shard_size=4, until_decided=UntilDecided(share=0.3))
    chosen = choose_measures(["sieve"], {"sieve": {"roles": "local,prev_local,cls"}})
    runs = [
        analyze(
            model, corpus, tmp_path / name, measures=chosen, settings=settings, executor=executor
        )
        for name, executor in (("ray", cluster), ("local", None))
    ]
    stopped = [run.record.model_extra["stopping"] for run in runs if run.record.model_extra]
    assert stopped[0] == stopped[1]
    assert stopped[0]["n_sequences"] < stopped[0]["n_planned"]
    assert contents(runs[0].path) == contents(runs[1].path)


def test_a_model_from_python_and_a_users_role_travel_along(
    cluster: Any, corpus: Corpus, tmp_path: Path, model: LoadedModel
) -> None:
    file = tmp_path / "roles.py"
    file.write_text(
        "from headscope.measures.roles import role\n\n\n"
        '@role("first_of_all_here", across=True)\n'
        "def first_of_all_here(batch):\n"
        '    """The first token."""\n'
        "    sieve = batch.tokens.real.clone()\n"
        "    sieve[:, 1:] = False\n"
        "    return sieve[:, None, :]\n"
    )
    load_roles(file)
    adopted = load(model.model, planted_tokenizer())
    assert adopted.recipe is None
    chosen = choose_measures(["sieve"], {"sieve": {"roles": "first_of_all_here,local"}})
    runs = [
        analyze(adopted, corpus, tmp_path / name, measures=chosen, executor=executor)
        for name, executor in (("ray", cluster), ("local", None))
    ]
    assert contents(runs[0].path) == contents(runs[1].path)


def test_comparisons_ablations_and_probes(
    cluster: Any, model: LoadedModel, corpus: Corpus, planted_folder: Path, tmp_path: Path
) -> None:
    after = load(planted_folder)
    labelled = save_label_model(tmp_path / "label")
    classifier, task = load_for_task(str(labelled), find_task("classification"))
    task, split = read_part(task, "dev", data=save_label_data(tmp_path / "data"))
    words = [
        f"{('tr', 'tr', 'va', 'te')[i // 2 % 4]}\t{i % 2}\t{('cat', 'dog')[i % 2]} sat {i}"
        for i in range(40)
    ]
    (tmp_path / "task.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    labelled_texts = read_task(str(tmp_path / "task.txt"))
    for executor, name in ((cluster, "ray"), (None, "local")):
        compare_models(
            model, after, corpus, tmp_path / name / "c", settings=SETTINGS, executor=executor
        )
        ablate(
            classifier,
            task,
            split,
            tmp_path / name / "a",
            options=AblationOptions(n_resamples=199, shard_size=3, importance=False),
            executor=executor,
        )
        ablate(
            classifier,
            task,
            split,
            tmp_path / name / "g",
            options=AblationOptions(
                by="accumulate:greedy", steps=2, n_resamples=199, shard_size=2, importance=False
            ),
            executor=executor,
        )
        probe(
            model,
            [labelled_texts],
            tmp_path / name / "p",
            settings=ProbeSettings(controls=0, permutations=9),
            cache=tmp_path / name / "cache",
            executor=executor,
        )
    for verb in "cag":
        assert contents(tmp_path / "ray" / verb) == contents(tmp_path / "local" / verb), verb
    there, here = (
        {f.name: f.read_bytes() for f in (tmp_path / name / "cache").glob("*.[bf]*")}
        for name in ("ray", "local")
    )
    assert there == here
    assert {name.split(".")[0] for name in here} == {"rows", "keys"}
    ours, theirs = (hs.open_run(tmp_path / n / "p").table("probe") for n in ("ray", "local"))
    assert ours.to_pandas().equals(theirs.to_pandas())  # where NaN is NaN


class _Trouble:
    """A job that goes wrong in a given way."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def run(self, work: Any, advance: Advance) -> Packed:
        if work == 1 and self.kind == "input":
            raise InputError("a.txt", found="b", expected="c", line=3)
        if work == 1 and self.kind == "death":
            os._exit(1)
        return {}, {"n": work}


def _by_value() -> None:
    from ray import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[__name__])


def test_errors_of_ours_travel_as_ours(cluster: Any) -> None:
    _by_value()
    items = [Item(i, i, 1) for i in range(4)]
    with pytest.raises(HeadscopeError, match=r"a\.txt:3: found b; expected c"):
        list(cluster.map(_Trouble("input"), items, Silent()))
    found = list(cluster.map(_Trouble("none"), items, Silent()))
    assert sorted(told["n"] for _, (_, told) in found) == [0, 1, 2, 3]


def test_a_shard_that_kills_every_worker_is_named(cluster: Any) -> None:
    _by_value()
    before = cluster.n_lost
    with pytest.raises(HeadscopeError, match="shard 1 took down 4 workers"):
        list(cluster.map(_Trouble("death"), [Item(i, i, 1) for i in range(4)], Silent()))
    assert cluster.n_lost >= before + 4  # those of the other shards may fall with them


def test_other_weights_on_a_worker_are_refused(
    cluster: Any, corpus: Corpus, tmp_path: Path, planted_folder: Path
) -> None:
    import torch
    from transformers import BertModel

    folder = tmp_path / "moved"
    loaded = BertModel.from_pretrained(planted_folder)
    planted_tokenizer().save_pretrained(folder)
    loaded.save_pretrained(folder)
    model = load(folder)
    with torch.no_grad():
        loaded.embeddings.word_embeddings.weight += 1
    loaded.save_pretrained(folder)
    with pytest.raises(ModelError, match="holds other weights"):
        analyze(model, corpus, tmp_path / "r", measures=MEASURES, executor=cluster)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--engine", "ray", "--address", "127.0.0.1:1"], "no Ray cluster answers there"),
        (["--engine", "ray", "--address", "nowhere"], "expected HOST:PORT"),
        (["--engine", "rya"], "did you mean 'ray'?"),
        (["--workers", "3"], "the local engine is one process"),
        (["--address", "127.0.0.1:6379"], "the local engine has none"),
    ],
)
def test_wrong_words_are_refused(
    words: list[str],
    said: str,
    planted_folder: Path,
    corpus: Corpus,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    output = tmp_path / "run"
    file = corpus.scan().files[0].name
    argv = ["headscope", "analyze", str(planted_folder), "-c", file, "-o", str(output), *words]
    monkeypatch.setattr(sys, "argv", argv)
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert said in capsys.readouterr().err
    assert not output.exists()


def test_other_versions_on_a_worker_are_refused() -> None:
    from headscope.engine.executors.ray_worker import Greeting, versions

    Greeting(1, "there", versions()).check()
    with pytest.raises(UsageError, match=r"torch is 0\.1 on there"):
        Greeting(1, "there", {**versions(), "torch": "0.1"}).check()


def test_without_the_package_its_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    from headscope.engine.executors.ray import RayExecutor

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"pip install 'headscope\[ray\]'"):
        RayExecutor()


def test_more_workers_than_there_is_room_for(cluster: Any) -> None:
    from headscope.engine.executors.ray import RayExecutor

    with (
        RayExecutor(workers=3, threads=1) as many,
        pytest.raises(UsageError, match="room for 2 workers"),
    ):
        list(many.map(_Trouble("none"), [Item(0, 0, 1)], Silent()))
