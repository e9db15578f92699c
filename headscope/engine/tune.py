"""Fine-tuning with one seed or several."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headscope.engine.progress import Progress, Silent
from headscope.engine.task_data import load_for_tuning
from headscope.store.durable import write_durably
from headscope.tasks import Split, Task
from headscope.tuning import Tuned, TuningOptions, finetune


def tune(
    name: str,
    task: Task,
    train: Split,
    dev: Split,
    output: Path,
    *,
    options: TuningOptions | None = None,
    resume: bool = False,
    progress: Progress | None = None,
    **loading: Any,
) -> Tuned:
    """Load a model, give it the head the task needs, train it and write it to `output`."""
    options, progress = options or TuningOptions(), progress or Silent()
    progress.stage(f"Loading {name}")
    model = load_for_tuning(name, task, options.seed, **loading)
    return finetune(
        model,
        task,
        train,
        dev,
        output,
        options=options,
        base=name,
        resume=resume,
        stage=progress.stage,
        advance=progress.advance,
    )


def tune_seeds(
    name: str,
    task: Task,
    train: Split,
    dev: Split,
    output: Path,
    *,
    seeds: Sequence[int],
    options: TuningOptions | None = None,
    resume: bool = False,
    progress: Progress | None = None,
    **loading: Any,
) -> list[Tuned]:
    """The same with several seeds, one folder `seed-N` each, and `seeds.json` with their median.

    Finished seeds are not trained again when the whole is resumed.
    """
    options = options or TuningOptions()
    found = []
    for seed in seeds:
        folder = output / f"seed-{seed}"
        one = options.model_copy(update={"seed": seed})
        again = resume and (folder / "finetune.json").is_file()
        found.append(
            tune(
                name,
                task,
                train,
                dev,
                folder,
                options=one,
                resume=again,
                progress=progress,
                **loading,
            )
        )
    told = {
        "task": task.title,
        "seeds": {str(seed): dict(one.dev) for seed, one in zip(seeds, found, strict=True)},
        "median": medians(found),
    }
    write_durably(output / "seeds.json", (json.dumps(told, indent=2) + "\n").encode())
    return found


def medians(tuned: Sequence[Tuned]) -> dict[str, float]:
    """The median of every metric over seeds."""
    return {m: statistics.median(one.dev[m] for one in tuned) for m in tuned[0].dev}
