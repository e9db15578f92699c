"""What a head knows of syntax: its best relations, and sentences (Clark et al. 2019, §4.2)."""

from __future__ import annotations

from typing import Any, Final

from headscope.figures.atlas.baselines import baselines
from headscope.figures.atlas.head_rows import head_records, number
from headscope.figures.atlas.row import Row
from headscope.figures.atlas.section import Rows, section
from headscope.figures.registered import RunLike
from headscope.types import HeadId

#: Relations shown per head, and the arcs a relation must have to be among them.
N_BEST: Final = 5
LEAST: Final = 20
#: Sentences per head.
N_EXAMPLES: Final = 4
EVERYTHING: Final = "all words (UAS)"
ARROWS: Final = {"dependent_to_head": "dependent → head", "head_to_dependent": "head → dependent"}


@section(
    "parser",
    title="Syntax it finds",
    tables=("parser",),
    order=60,
    note="How often the head's strongest attention hits the right word, with a Wilson interval; "
    "the margin is over always taking the word at the best fixed offset. A head's best relations "
    "were picked after looking at all of them.",
    comparable=(EVERYTHING,),
)
def parser(run: RunLike) -> Rows:
    """All words together, then the relations with the largest margins over the baseline."""
    baseline = baselines(run)
    best: dict[HeadId, dict[str, tuple[float, dict[str, Any]]]] = {}
    for head, row in head_records(run.table("parser")):
        accuracy = number(row["accuracy"])
        if accuracy == accuracy and row["n"] >= (1 if row["relation"] == "all" else LEAST):
            mine = best.setdefault(head, {})
            if row["relation"] not in mine or accuracy > mine[row["relation"]][0]:
                mine[row["relation"]] = accuracy, row
    found: dict[HeadId, list[Row]] = {}
    for head, relations in best.items():
        rows = {
            name: _row(row, baseline.get((head.stack, name)))
            for name, (_, row) in relations.items()
        }
        ranked = sorted(
            (name for name in rows if name != "all"),
            key=lambda name: (
                -(rows[name].number - baseline.get((head.stack, name), 0.0)),
                name,
            ),
        )
        found[head] = [rows[name] for name in ("all", *ranked[:N_BEST]) if name in rows]
    return found


def _row(row: dict[str, Any], baseline: float | None) -> Row:
    accuracy = number(row["accuracy"])
    against = "" if baseline is None else f", margin {(accuracy - baseline) * 100:+.1f} points"
    everything = row["relation"] == "all"
    return Row(
        EVERYTHING if everything else row["relation"],
        accuracy,
        low=number(row["ci_low"]),
        high=number(row["ci_high"]),
        n=row["n"],
        full=1.0,
        text=f"{ARROWS.get(row['direction'], row['direction'])}{against}",
        strong=baseline is not None and number(row["ci_low"]) > baseline and not everything,
    )


@section(
    "parser_examples",
    title="Sentences it parses",
    tables=("parser_examples",),
    order=61,
    note="For relations that no other head finds better: a dependent, its head, and what this "
    "head of the model points to.",
    comparable=False,
)
def examples(run: RunLike) -> Rows:
    """Right answers first, then a wrong one, so that nobody takes the head for perfect."""
    of_head: dict[HeadId, tuple[list[Row], list[Row]]] = {}
    for head, row in head_records(run.table("parser_examples")):
        arc = f"{row['relation']}: {row['dependent']} → {row['gold']}"
        pointed = f"“{row['predicted']}”" if row["predicted"] else "nothing"
        said = "✓ right" if row["correct"] else f"✗ points to {pointed}"
        right, wrong = of_head.setdefault(head, ([], []))
        (right if row["correct"] else wrong).append(Row(arc, value=said, text=row["sentence"]))
    return {
        head: (right[: N_EXAMPLES - 1] + wrong)[:N_EXAMPLES]
        for head, (right, wrong) in of_head.items()
    }
