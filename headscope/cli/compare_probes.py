"""`headscope compare` for runs of probes: models side by side."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from headscope.store import Run


def run_probe_comparison(runs: Sequence[Run], output: Path | None, *, as_json: bool) -> None:
    """Print last layer, best layer and top heads of every model and task; draw the heat maps."""
    from headscope.analyses.probe_models import compare_probes, write_probe_comparison
    from headscope.figures import render_report

    tables = compare_probes(runs)
    if output is not None:
        written = write_probe_comparison(runs, tables, output)
        written.write_file("report.html", render_report(written))
    rows = _rows(tables["probe_compared"])
    kept = [r for r in rows if r["representation"] in ("last", "best", "top_n")]
    if as_json:
        plain = [{k: None if v != v else v for k, v in r.items()} for r in kept]
        typer.echo(json.dumps(plain, indent=2, ensure_ascii=False))
        return
    for task in dict.fromkeys(r["task"] for r in kept):
        typer.echo(task)
        for model in dict.fromkeys(r["model"] for r in kept):
            mine = [r for r in kept if (r["task"], r["model"]) == (task, model)]
            metric = mine[0]["metric"]
            parts = [
                f"{r['representation']} {r['test']:.3f}"
                for r in mine
                if r["metric"] == metric and r["representation"] != "top_n"
            ]
            curve = [r for r in mine if r["metric"] == metric and r["representation"] == "top_n"]
            named = [r for r in curve if not math.isnan(r["control"])] or curve[-1:]
            parts += [f"top {r['n_heads']} {r['test']:.3f}" for r in named]
            typer.echo(f"  {model}: {', '.join(parts)} ({metric})")
    if output is not None:
        typer.echo(f"Report: {output / 'report.html'}")


def _rows(columns: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
