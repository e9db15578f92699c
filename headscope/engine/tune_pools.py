"""Fine-tuning from the last layer, the best layer or the best heads (Jo & Myaeng 2020, §5.2)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

from headscope.engine.probe import ProbeSettings, probe
from headscope.engine.progress import Progress, Silent
from headscope.engine.tune import medians
from headscope.errors import UsageError
from headscope.models import load
from headscope.models.sentence_token import reading_stack
from headscope.probes.probe_task import (
    TEST,
    TRAIN,
    LabelledText,
    ProbeTask,
    classification,
    regression,
)
from headscope.store import Run, open_run
from headscope.store.durable import write_durably
from headscope.tasks import Split, Task
from headscope.tasks.classification import Classification
from headscope.tasks.regression import Regression
from headscope.tuning import Tuned, TuningOptions, finetune
from headscope.tuning.pooled_model import Pool, pooled_model, save_pooled
from headscope.types import HeadId

PoolName: TypeAlias = Literal["last", "best", "top-n"]
POOLS: tuple[PoolName, ...] = ("last", "best", "top-n")


def parse_pools(given: str) -> list[PoolName]:
    """Names of pools, comma-separated.

    >>> parse_pools("last,top-n")
    ['last', 'top-n']
    """
    listed = [name.strip() for name in given.split(",") if name.strip()]
    found = [pool for name in dict.fromkeys(listed) for pool in POOLS if pool == name]
    if not found or len(found) < len(dict.fromkeys(listed)):
        raise UsageError(f"--pool {given}: expected last, best or top-n, or several of them")
    return found


def probe_task_of(task: Task, train: Split, dev: Split) -> ProbeTask:
    """A task to tune on as one to probe: heads are ranked by folds of train, dev is only scored."""
    if not isinstance(task, Classification | Regression):
        raise UsageError(f"{task.title} has no label per text; --pool needs one")
    rows = [
        LabelledText(example.sequence, str(example.gold), part)
        for split, part in ((train, TRAIN), (dev, TEST))
        for example in split.examples
    ]
    first = "pearson" if isinstance(task, Regression) else "accuracy"
    make = regression if isinstance(task, Regression) else classification
    metrics = tuple(dict.fromkeys((first, *task.metrics)))
    return make(task.title, rows, f"{train.fingerprint}/{dev.fingerprint}", metrics=metrics)


def choose_pool(run: Run, title: str, pool: PoolName, n_heads: int | None) -> Pool:
    """The layer or the heads that a run of probes ranks first, by validation scores alone."""
    rows = [r for r in run.table("probe").to_pylist() if r["task"] == title]
    if not rows:
        listed = ", ".join(sorted(set(run.table("probe").column("task").to_pylist())))
        raise UsageError(f"{run.path} has no probes of {title}; it has: {listed}")
    mine = [r for r in rows if r["metric"] == rows[0]["metric"]]
    if pool == "best":
        return Pool(layer=next(r["layer"] for r in mine if r["representation"] == "best"))
    heads = [r for r in mine if r["representation"] == "head"]
    plain = 1 + max(r["head"] for r in heads)
    n = plain if n_heads is None else n_heads
    if n > len(heads):
        raise UsageError(f"--n-heads {n}: the model has {len(heads)} heads")
    ranked = sorted(heads, key=lambda r: int(r["rank"]))[:n]
    return Pool(heads=tuple(HeadId(r["layer"], r["head"], r["stack"]) for r in ranked))


def tune_pools(
    name: str,
    task: Task,
    train: Split,
    dev: Split,
    output: Path,
    *,
    pools: Sequence[PoolName],
    seeds: Sequence[int],
    n_heads: int | None = None,
    probes: Path | None = None,
    options: TuningOptions | None = None,
    resume: bool = False,
    progress: Progress | None = None,
    **loading: Any,
) -> dict[PoolName, list[Tuned]]:
    """Rank heads with probes, then tune from every pool with every seed.

    Folders: `probe` (the run of probes, unless one is given), `last/seed-0` and so on, and
    `pools.json` with every score and the medians over seeds: the paper's Table 4.
    """
    options, progress = options or TuningOptions(), progress or Silent()
    run = None
    if any(pool != "last" for pool in pools):
        run = _ranking(name, task, train, dev, output, probes, resume, progress, loading)
    found: dict[PoolName, list[Tuned]] = {}
    chosen: dict[str, Any] = {}
    for pool in pools:
        for seed in seeds:
            progress.stage(f"Loading {name}")
            body = load(name, **loading)
            last = body.layout[reading_stack(body)].n_layers - 1
            read = (
                Pool(layer=last)
                if run is None or pool == "last"
                else choose_pool(run, task.title, pool, n_heads)
            )
            model = pooled_model(body, read, task.head_changes()["num_labels"], seed)
            folder = output / pool / f"seed-{seed}"
            module: Any = model.model
            chosen[pool] = module.pool.told()
            found.setdefault(pool, []).append(
                finetune(
                    model,
                    task,
                    train,
                    dev,
                    folder,
                    options=options.model_copy(update={"seed": seed}),
                    base=name,
                    asked={"pool": read.told()},
                    save=save_pooled,
                    resume=resume and (folder / "finetune.json").is_file(),
                    stage=progress.stage,
                    advance=progress.advance,
                )
            )
    _write(output, task, chosen, found, seeds)
    return found


def _ranking(
    name: str,
    task: Task,
    train: Split,
    dev: Split,
    output: Path,
    given: Path | None,
    resume: bool,
    progress: Progress,
    loading: Mapping[str, Any],
) -> Run:
    if given is not None:
        return open_run(given)
    folder = output / "probe"
    progress.stage(f"Loading {name}")
    # of pairs the two vectors are compared, as in SentEval; no curve: only the ranking is needed
    settings = ProbeSettings(curve="none")
    again = resume and (folder / "run.json").is_file()
    read = probe_task_of(task, train, dev)
    return probe(
        load(name, **loading), [read], folder, settings=settings, resume=again, progress=progress
    )


def _write(
    output: Path,
    task: Task,
    chosen: Mapping[str, Any],
    found: Mapping[PoolName, Sequence[Tuned]],
    seeds: Sequence[int],
) -> None:
    told = {
        "task": task.title,
        "pools": {
            pool: {
                "reads": chosen[pool],
                "seeds": {str(s): dict(one.dev) for s, one in zip(seeds, tuned, strict=True)},
                "median": medians(tuned),
            }
            for pool, tuned in found.items()
        },
    }
    write_durably(output / "pools.json", (json.dumps(told, indent=2) + "\n").encode())
