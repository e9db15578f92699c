"""Does a head store syntax, meaning, or both?"""

from __future__ import annotations

from collections import defaultdict
from typing import Final

import numpy as np

from headscope.analyses.registered import analysis
from headscope.store import Run

#: Jo & Myaeng (2020), §6.2: the groups of SentEval's tasks; those of the surface are left out.
SYNTACTIC: Final = ("tree_depth", "top_constituents", "bigram_shift")
SEMANTIC: Final = (
    "past_present", "subj_number", "obj_number", "odd_man_out", "coordination_inversion",
)  # fmt: skip


@analysis("probe_groups", tables=("probe",), order=60)
def probe_groups(run: Run) -> None:
    """The syntactic and the semantic score of every head, as the table `probe_groups`.

        score = mean over the group's tasks of the head's test accuracy

    Tasks have different numbers of classes, so scores of the two groups are not comparable with
    each other; heads are, within a group. That heads with a high score on one have a high score on
    the other says that some heads store more of everything, not that syntax and meaning are one.
    Source: Jo & Myaeng (2020), §6.2, Figure 5. Departure: tasks that were not probed are left out,
    and `n_syntactic` and `n_semantic` say how many were.
    """
    found: dict[tuple[str, int, int], dict[str, float]] = defaultdict(dict)
    for row in run.table("probe").to_pylist():
        if row["representation"] == "head" and row["metric"] == "accuracy":
            found[row["stack"], row["layer"], row["head"]][row["task"]] = row["test"]
    tasks = {task for scores in found.values() for task in scores}
    groups = {
        name: [task for task in group if task in tasks]
        for name, group in (("syntactic", SYNTACTIC), ("semantic", SEMANTIC))
    }
    if not all(groups.values()):
        return
    heads = sorted(found)
    run.add_table(
        "probe_groups",
        {
            "stack": [stack for stack, _, _ in heads],
            "layer": [layer for _, layer, _ in heads],
            "head": [head for _, _, head in heads],
            **{
                name: [float(np.mean([found[h].get(t, np.nan) for t in group])) for h in heads]
                for name, group in groups.items()
            },
            **{f"n_{name}": [len(group)] * len(heads) for name, group in groups.items()},
        },
    )
