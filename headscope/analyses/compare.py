"""Two or more runs over the same texts, side by side, as a run of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from headscope.analyses.role_changes import paired, role_changes, role_moves
from headscope.analyses.role_test import RoleTestOptions
from headscope.errors import RunError, UsageError
from headscope.store import Request, Run, RunRecord, RunWriter, open_run
from headscope.types import Result

#: Settings under which two models read the same tokens of the same sequences.
_SETTINGS = ("max_tokens", "long", "dropped")


def check_comparable(a: Run, b: Run) -> None:
    """Refuse, with what differs, two runs that did not read the same thing in the same way."""
    found: list[tuple[str, Any, Any]] = []

    def same(what: str, mine: Any, theirs: Any) -> None:
        if mine != theirs:
            found.append((what, mine, theirs))

    one, two = a.record, b.record
    if one.corpus.fingerprint != two.corpus.fingerprint:
        named = [f"{r.corpus.name} ({r.corpus.n_sequences} sequences)" for r in (one, two)]
        if named[0] == named[1]:
            named = [
                f"{n}, {r.corpus.fingerprint[:12]}" for n, r in zip(named, (one, two), strict=True)
            ]
        found.append(("corpus", named[0], named[1]))
    for name in _SETTINGS:
        same(name, one.request.settings.get(name), two.request.settings.get(name))
    if not found and one.corpus.tokens_fingerprint != two.corpus.tokens_fingerprint:
        tokens = [
            f"{r.model.name} reads {r.counts.get('n_tokens', 0):,} tokens" for r in (one, two)
        ]
        found.append(("tokenizer", tokens[0], tokens[1]))
    shapes = [
        ", ".join(f"{s.stack} {s.n_layers}×{s.n_heads}" for s in r.model.stacks) for r in (one, two)
    ]
    same("layers × heads", shapes[0], shapes[1])
    mine, theirs = _sieve(one), _sieve(two)
    for name in sorted(mine.keys() & theirs.keys() - {"keep", "decide_at"}):
        same(f"sieve.{name}", mine[name], theirs[name])
    if found:
        lines = "\n  ".join(f"{what}: {x} – {y}" for what, x, y in found)
        raise RunError(
            f"{a.path} and {b.path} cannot be compared head by head: they differ in\n  {lines}\n"
            "Analyze both models with the same corpus and settings"
        )


def compare_runs(
    runs: Sequence[Run], options: RoleTestOptions | None = None
) -> dict[str, dict[str, list[Any]]]:
    """The tables of a comparison: the first run is "before", each of the others "after"."""
    if len(runs) < 2:
        raise UsageError("compare needs two runs or more")
    before, *others = runs
    for after in others:
        check_comparable(before, after)
    tables: dict[str, dict[str, list[Any]]] = {}
    for after, name in zip(others, different_names(others), strict=True):
        pair = paired(before, after)
        for table, columns in (
            ("role_changes", role_changes(pair, name)),
            ("role_moves", role_moves(before, after, pair, name, options)),
        ):
            whole = tables.setdefault(table, {})
            for column, values in columns.items():
                whole.setdefault(column, []).extend(values)
    return tables


def write_comparison(
    runs: Sequence[Run],
    tables: Mapping[str, Mapping[str, list[Any]]],
    output: Path,
    options: RoleTestOptions | None = None,
) -> Run:
    """Write the tables as a run folder of its own; its report is drawn like any other's."""
    before, *others = runs
    first = before.record
    record = RunRecord(
        request=Request(
            model={"before": first.model.name, "after": different_names(others)},
            corpus=first.request.corpus,
            settings={
                "compared": [
                    {"path": str(run.path), "model": run.record.model.fingerprint} for run in runs
                ],
                "roles": {
                    name: getattr(options or RoleTestOptions(), name)
                    for name in ("tau", "alpha", "test", "correction")
                },
            },
            engine={"name": "compare"},
        ),
        model=others[0].record.model.model_copy(
            update={"name": f"{', '.join(different_names(others))} against {first.model.name}"}
        ),
        corpus=first.corpus,
        counts=first.counts,
        notes=[f"{run.path}: {run.record.model.name}" for run in runs],
    )
    with RunWriter.open(output, record) as writer:
        writer.complete({"compare": Result(tables=tables)}, writer.record)
    return open_run(output)


def different_names(runs: Sequence[Run]) -> list[str]:
    """A different name for every run: its model's, then its folder's, then its number as well."""
    names = [run.record.model.name for run in runs]
    folders, numbers = [run.path.name for run in runs], [str(i + 1) for i in range(len(runs))]
    for more in (folders, numbers):
        names = [
            name if names.count(name) == 1 else f"{name} ({extra})"
            for name, extra in zip(names, more, strict=True)
        ]
    return names


def _sieve(record: RunRecord) -> Mapping[str, Any]:
    return next((m.parameters for m in record.request.measures if m.name == "sieve"), {})
