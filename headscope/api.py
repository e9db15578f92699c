"""The Python face: the verbs of the command line as functions."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from headscope import store

if TYPE_CHECKING:
    from torch import nn

    from headscope.analyses.clusters import Clustering
    from headscope.analyses.role_test import RoleTest
    from headscope.corpora import Corpus
    from headscope.engine import Settings
    from headscope.explorer.saved_view import AttentionView
    from headscope.figures import Atlas, Passport, Picture
    from headscope.models import LoadedModel
    from headscope.probes.probe_task import ProbeTask
    from headscope.tuning import Tuned

__all__ = [
    "Run",
    "ablate",
    "analyze",
    "finetune",
    "load",
    "open_run",
    "parse_probe",
    "probe",
    "view",
]


class Run(store.Run):
    """A finished run with everything that can be asked of it, without its model."""

    def figure(self, name: str) -> Picture:
        """A figure by name; notebooks show it."""
        from headscope.figures import draw

        return draw(self, name)

    def head(self, layer: int | str, head: int | None = None) -> Passport:
        """The passport of a head, named as people do: counted from 1.

        `run.head(3, 1)` and `run.head("3-1")` are the first head of the third layer, which the
        tables, counting from 0, hold as layer 2, head 0. In models with several stacks name the
        stack: `run.head("cross:3-1")`. Notebooks show the passport; `to_dict()` is plain JSON.
        """
        from headscope.figures import passport_of

        return passport_of(self, layer, head)

    def atlas(self, *others: store.Run) -> Atlas:
        """All heads to look at and click, inside a notebook; with other runs, what changed."""
        from headscope.figures import Atlas

        return Atlas.of([self, *others])

    def report(self) -> Path:
        """Draw the report again and say where it is."""
        from headscope.figures import render_report

        return self.write_file("report.html", render_report(self))

    def roles(self, **options: Any) -> RoleTest:
        """Test which roles each head has and write the tables; no new pass, no model.

        `options` are those of `headscope.analyses.role_test.RoleTestOptions`: `tau` (a number or
        "auto"), `alpha`, `test`, `correction` and so on.
        """
        from headscope.analyses.role_test import RoleTestOptions
        from headscope.analyses.roles import add_roles

        return add_roles(self, RoleTestOptions(**options))

    def clusters(
        self,
        k: int = 4,
        method: Literal["kmeans", "gmm"] = "kmeans",
        *,
        seed: int = 0,
        stability: bool = False,
    ) -> Clustering:
        """Cluster heads by how far they look and write the tables; no new pass, no model."""
        from headscope.analyses.cluster_tables import Settings, write_clusters

        return write_clusters(self, Settings(k, method, seed, stability))

    def compare(self, *others: store.Run, output: str | Path | None = None, **options: Any) -> Run:
        """What changed from this run to others over the same sequences, as a run of its own.

        `options` are those of `roles`. Without `output` it goes to a new temporary folder.
        """
        from headscope.analyses.compare import compare_runs, write_comparison
        from headscope.analyses.role_test import RoleTestOptions

        asked, runs = RoleTestOptions(**options), [self, *others]
        tables = compare_runs(runs, asked)
        folder = Path(output or Path(tempfile.mkdtemp(prefix="headscope-")) / "run")
        written = open_run(write_comparison(runs, tables, folder, asked).path)
        written.report()
        return written


def open_run(path: str | Path) -> Run:
    """A finished run; torch is not needed."""
    opened = store.open_run(path)
    return Run(opened.path, opened.record, opened.url)


def load(model: str | Path | nn.Module, tokenizer: Any = None, **options: Any) -> LoadedModel:
    """A model by hub name, folder or the word `default`, or a loaded one with its tokenizer."""
    from headscope.models import load as load_model

    return load_model(model, tokenizer, **options)


def analyze(
    model: str | Path | nn.Module | LoadedModel,
    corpus: str | Path | Corpus | Iterable[Any],
    output: str | Path | None = None,
    *,
    tokenizer: Any = None,
    measures: Iterable[str] | None = None,
    parameters: Mapping[str, Mapping[str, Any]] | None = None,
    layers: str | Iterable[int] | None = None,
    engine: str = "local",
    address: str | None = None,
    workers: int | None = None,
    threads: int | None = None,
    device: str = "auto",
    dtype: Literal["float32", "bfloat16", "float16"] = "float32",
    settings: Settings | None = None,
    **options: Any,
) -> Run:
    """Measure every head of a model over a corpus.

    `corpus` is a file, a `Corpus`, or an iterable of texts and pairs of texts. Without `output`
    the run goes to a new temporary folder. `layers` are counted from 1 (`"1-4,6"` or numbers):
    only those are looked at. `engine="ray"` spreads the work over `workers` processes, here or on
    the cluster at `address`. `options` are those of `headscope.engine.analyze`.
    """
    from headscope.corpora import Corpus
    from headscope.engine import Settings, choose_measures, head_for
    from headscope.engine import analyze as run_pass
    from headscope.engine.executor import ENGINES
    from headscope.engine.layers import parse_layers
    from headscope.models import LoadedModel
    from headscope.models import load as load_model

    chosen = choose_measures(measures, parameters)
    settings = settings or Settings()
    if layers is not None:
        only = parse_layers(layers) if isinstance(layers, str) else tuple(sorted(set(layers)))
        settings = settings.model_copy(update={"layers": only})
    if isinstance(corpus, str | Path):
        corpus = Corpus(corpus)
    elif not isinstance(corpus, Corpus):
        corpus = Corpus.of(corpus)
    corpus.scan()
    with ENGINES[engine](address, workers, threads, device) as executor:
        loaded = (
            model
            if isinstance(model, LoadedModel)
            else load_model(model, tokenizer, head=head_for(chosen), device=device, dtype=dtype)
        )
        folder = Path(output or Path(tempfile.mkdtemp(prefix="headscope-")) / "run")
        run_pass(
            loaded,
            corpus,
            folder,
            measures=chosen,
            settings=settings,
            executor=executor,
            **options,
        )
    return open_run(folder)


def view(
    model: str | Path | nn.Module | LoadedModel,
    text: str,
    pair: str = "",
    *,
    edits: Mapping[str, str] | None = None,
    head: str = "",
    tokenizer: Any = None,
) -> AttentionView:
    """Look at a model's attention over one text, or a pair, inside a notebook.

    Lines and maps of every head, by word or by token. `edits` also shows what changes when heads
    are edited, `{"zero": "3-1"}` for one; `head` is looked at first. The page needs no server and
    stays when the notebook is saved; `.save(path)` writes it to a file.
    """
    from headscope.explorer.live.loading import load_with_head
    from headscope.explorer.saved_view import AttentionView
    from headscope.models import LoadedModel
    from headscope.models import load as load_model

    if not isinstance(model, LoadedModel):
        is_name = isinstance(model, str | Path)
        model = load_with_head(str(model)) if is_name else load_model(model, tokenizer)
    return AttentionView.of(model, text, pair, edits=edits, head=head)


def parse_probe(
    model: str | Path | nn.Module | LoadedModel,
    train: str | Path | Corpus,
    dev: str | Path | Corpus,
    output: str | Path | None = None,
    *,
    vectors: str | Path | None = None,
    tokenizer: Any = None,
    parameters: Mapping[str, Any] | None = None,
    **options: Any,
) -> Run:
    """Train small parsers on a model's attention maps and score them on `dev`.

    `parameters` are those of the training (`max_epochs`, `seed` …), `options` the others of
    `headscope.engine.parse_probe.parse_probe`. Without `output` the run goes to a new temporary
    folder.
    """
    from headscope.corpora import Corpus
    from headscope.engine.parse_probe import ProbeOptions, check_trees, vocabulary
    from headscope.engine.parse_probe import parse_probe as run_probes
    from headscope.models import LoadedModel
    from headscope.models import load as load_model
    from headscope.probes.word_vectors import read_vectors

    learning = train if isinstance(train, Corpus) else Corpus(train)
    scoring = dev if isinstance(dev, Corpus) else Corpus(dev)
    check_trees(learning, scoring)
    known = None if vectors is None else read_vectors(vectors, vocabulary(learning, scoring))
    loaded = model if isinstance(model, LoadedModel) else load_model(model, tokenizer)
    folder = Path(output or Path(tempfile.mkdtemp(prefix="headscope-")) / "run")
    asked = ProbeOptions(**(parameters or {}))
    run_probes(loaded, learning, scoring, folder, vectors=known, options=asked, **options)
    return open_run(folder)


def probe(
    model: str | Path | nn.Module | LoadedModel,
    tasks: str | Path | ProbeTask | Iterable[str | Path | ProbeTask],
    output: str | Path | None = None,
    *,
    data: str | Path | None = None,
    tokenizer: Any = None,
    settings: Mapping[str, Any] | None = None,
    **options: Any,
) -> Run:
    """Train a small classifier on every head's output, and one on the best heads together.

    `tasks` are files of labelled texts, or names such as "MRPC" whose files are in `data`;
    `settings` those of `headscope.engine.probe.ProbeSettings`, `options` the others of
    `headscope.engine.probe.probe`. Without `output` the run goes to a new temporary folder.
    """
    from headscope.engine.probe import ProbeSettings
    from headscope.engine.probe import probe as run_probes
    from headscope.models import LoadedModel
    from headscope.models import load as load_model
    from headscope.probes.probe_task import ProbeTask
    from headscope.probes.task_files import read_task

    asked = ProbeSettings(**(settings or {}))
    listed = [tasks] if isinstance(tasks, str | Path | ProbeTask) else list(tasks)
    folder = None if data is None else Path(data)
    read = [
        task if isinstance(task, ProbeTask) else read_task(str(task), data=folder, seed=asked.seed)
        for task in listed
    ]
    loaded = model if isinstance(model, LoadedModel) else load_model(model, tokenizer)
    path = Path(output or Path(tempfile.mkdtemp(prefix="headscope-")) / "run")
    run_probes(loaded, read, path, settings=asked, **options)
    return open_run(path)


def finetune(
    model: str | Path,
    task: str,
    data: str | Path,
    output: str | Path,
    *,
    train_rows: int | None = None,
    resume: bool = False,
    **options: Any,
) -> Tuned:
    """Fine-tune a model on a task; the result says where the model is and what it scores.

    `options` are those of `headscope.tuning.TuningOptions`: `epochs`, `learning_rate`, `seed` …
    """
    from headscope.engine.task_data import read_part
    from headscope.engine.tune import tune
    from headscope.tasks import DataOptions, find_task
    from headscope.tuning import TuningOptions

    asked = TuningOptions(**options)
    rows = DataOptions(rows=train_rows, seed=asked.seed)
    chosen, train = read_part(find_task(task), "train", data=Path(data), options=rows)
    chosen, dev = read_part(chosen, "dev", data=Path(data))
    return tune(str(model), chosen, train, dev, Path(output), options=asked, resume=resume)


def ablate(
    model: str | Path | LoadedModel,
    task: str,
    data: str | Path,
    output: str | Path | None = None,
    *,
    rows: int | None = None,
    roles_of: store.Run | None = None,
    resume: bool = False,
    **options: Any,
) -> Run:
    """Switch heads off and measure what that does to a task.

    `options` are those of `headscope.engine.ablate.AblationOptions`: `by`, `how`, `combine` …
    `roles_of` is a run whose roles and clusters can be selected. Without `output` the run goes to a
    new temporary folder.
    """
    from headscope.engine.ablate import AblationOptions
    from headscope.engine.ablate import ablate as run_ablations
    from headscope.engine.task_data import load_for_task, read_part
    from headscope.models import LoadedModel
    from headscope.tasks import DataOptions, find_task

    asked = AblationOptions(**options)
    chosen = find_task(task)
    if isinstance(model, LoadedModel):
        loaded, chosen = model, chosen.for_model(model)
    else:
        loaded, chosen = load_for_task(str(model), chosen)
    reading = DataOptions(rows=rows, seed=asked.seed)
    chosen, split = read_part(chosen, "dev", data=Path(data), options=reading)
    folder = Path(output or Path(tempfile.mkdtemp(prefix="headscope-")) / "run")
    run_ablations(loaded, chosen, split, folder, options=asked, roles_of=roles_of, resume=resume)
    return open_run(folder)
