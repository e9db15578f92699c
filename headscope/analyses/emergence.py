"""How roles emerge: the same test of every head at every checkpoint of one training run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from headscope.analyses.compare import check_comparable
from headscope.analyses.role_test import RoleTest, RoleTestOptions, role_test
from headscope.errors import UsageError
from headscope.stats import mean_interval
from headscope.store import Request, Run, RunRecord, RunWriter, open_run
from headscope.types import Result

#: Also counted: heads that have at least one role.
ANY = "any role"
COLUMNS = (
    "stack", "step", "model", "role", "n_heads", "share", "mean_score", "ci_low", "ci_high", "n",
)  # fmt: skip


def training_steps(runs: Sequence[Run]) -> list[int]:
    """The training step of every checkpoint.

    It is the last number of its name, as in `checkpoint-500`; where that does not tell all of them
    apart, their order, from 1.
    """
    found = [step_in(run.record.model.name) for run in runs]
    known = [step for step in found if step is not None]
    if len(known) < len(found) or len(set(known)) < len(known):
        return list(range(1, len(runs) + 1))
    return known


def step_in(name: str) -> int | None:
    """The last number in a name.

    >>> step_in("ckpt-000500"), step_in("model-2/step-40"), step_in("final")
    (500, 40, None)
    """
    numbers = re.findall(r"\d+", name)
    return int(numbers[-1]) if numbers else None


def emergence(runs: Sequence[Run], options: RoleTestOptions | None = None) -> dict[str, list[Any]]:
    """One row per checkpoint and role.

        share       heads that have the role at this checkpoint / all heads
        mean_score  mean over heads of their mean sieve bias score

    with the 95 % interval of the mean over heads. Every checkpoint is tested as one run is, with
    its own correction over heads × roles. A rising line says that more heads attend to a role's
    tokens, not that the same heads do. All runs must be over the same texts, with one tokenizer.
    Source: the papers' shared open question; Jo & Myaeng 2020, §7, ask for it.
    """
    if len(runs) < 2:
        raise UsageError("emergence needs the runs of two checkpoints or more")
    for other in runs[1:]:
        check_comparable(runs[0], other)
    ordered = sorted(zip(training_steps(runs), runs, strict=True), key=lambda pair: pair[0])
    columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    for step, run in ordered:
        for row in _rows(role_test(run, options)):
            whole = {**row, "step": step, "model": run.record.model.name}
            for name in COLUMNS:
                columns[name].append(whole[name])
    return columns


def _rows(test: RoleTest) -> list[dict[str, Any]]:
    stacks = np.array([head.stack for head in test.means.heads], dtype=object)
    roles = np.array(test.means.roles, dtype=object)
    rows: list[dict[str, Any]] = []
    for stack in dict.fromkeys(stacks.tolist()):
        here = stacks == stack
        for role in test.role_names:
            chosen = here & (roles == role)
            if not chosen.any():
                continue
            scores = test.means.mean[chosen]
            known = scores[~np.isnan(scores)]
            n = len(known)
            average = float(known.mean()) if n else float("nan")
            std = float(known.std(ddof=1)) if n > 1 else float("nan")
            low, high = mean_interval(average, std, n)
            rows.append(
                {
                    "stack": stack,
                    "role": role,
                    "n_heads": int(test.assigned[chosen].sum()),
                    "share": float(test.assigned[chosen].mean()),
                    "mean_score": average,
                    "ci_low": float(low),
                    "ci_high": float(high),
                    "n": n,
                }
            )
        heads = [h for h, mine in zip(test.means.heads, here.tolist(), strict=True) if mine]
        some = {h for h, yes in zip(heads, test.assigned[here].tolist(), strict=True) if yes}
        n_all = len(set(heads))
        nothing = float("nan")
        rows.append(
            {
                "stack": stack,
                "role": ANY,
                "n_heads": len(some),
                "share": len(some) / n_all,
                "mean_score": nothing,
                "ci_low": nothing,
                "ci_high": nothing,
                "n": n_all,
            }
        )
    return rows


def write_emergence(
    runs: Sequence[Run], output: Path, options: RoleTestOptions | None = None
) -> Run:
    """The table `emergence` as a run of its own."""
    table = emergence(runs, options)
    first = runs[0].record
    record = RunRecord(
        request=Request(
            model={"checkpoints": [run.record.model.name for run in runs]},
            corpus=first.request.corpus,
            settings={
                "compared": [
                    {"path": str(run.path), "model": run.record.model.fingerprint} for run in runs
                ]
            },
            engine={"name": "emergence"},
        ),
        model=first.model.model_copy(
            update={"name": f"{len(runs)} checkpoints, {first.model.name} first"}
        ),
        corpus=first.corpus,
        counts=first.counts,
    )
    with RunWriter.open(output, record) as writer:
        writer.complete({"emergence": Result(tables={"emergence": table})}, writer.record)
    return open_run(output)
