"""What a study ends in: one report, and a small summary in Markdown."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from headscope.errors import HeadscopeError
from headscope.figures import FIGURES, Picture
from headscope.figures.picture import Table
from headscope.figures.study_page import (
    ClaimRow,
    Section,
    StudyPage,
    markdown_table,
    render_study,
)
from headscope.store import open_run
from headscope.store.durable import write_durably
from headscope.studies.beside import table_of
from headscope.studies.claim import CLAIMS, Finding, Labelled
from headscope.studies.document import Show
from headscope.studies.estimate import people_seconds
from headscope.studies.runner import Outcome

REPORT, SUMMARY = "report.html", "study.md"


@dataclass(frozen=True)
class Asked:
    """A claim with what was found."""

    row: ClaimRow
    finding: Finding


def conclude(outcome: Outcome, command: str = "") -> StudyPage:
    """Judge the claims, draw the figures, and write report.html and study.md."""
    page = study_page(outcome, command)
    write_durably(outcome.output / REPORT, render_study(page).encode())
    write_durably(outcome.output / SUMMARY, study_markdown(page).encode())
    return page


def study_page(outcome: Outcome, command: str = "") -> StudyPage:
    """All that the study's report says."""
    document = outcome.plan.file.document
    claims = [
        _claim_row(
            asked.claim, CLAIMS[asked.claim].ask(_runs(outcome, asked.steps), **asked.options)
        )
        for asked in document.claims
    ]
    absent = [*document.absent, *_left_out(outcome)]
    return StudyPage(
        title=document.title,
        paper=document.paper,
        model=_models(outcome),
        about=" ".join(document.about.split()),
        claims=tuple(claims),
        sections=tuple(_section(outcome, show) for show in document.show),
        steps=_steps(outcome),
        absent=tuple(absent),
        command=command,
    )


def _runs(outcome: Outcome, steps: Sequence[str]) -> list[Labelled]:
    """The runs of those steps that were carried out."""
    return [
        Labelled(outcome.plan[name].label, open_run(outcome.runs[name]))
        for name in steps
        if name in outcome.runs
    ]


def _claim_row(name: str, finding: Finding) -> ClaimRow:
    claim = CLAIMS[name]
    return ClaimRow(
        says=claim.says,
        paper=claim.paper,
        found=claim.found,
        here=finding.here,
        interval=interval(finding.low, finding.high),
        n=f"{finding.n:,}{f' {finding.of}' if finding.of else ''}" if finding.n else "–",
        verdict=finding.verdict,
        rule=claim.rule,
    )


def interval(low: float, high: float) -> str:
    """An interval for people.

    >>> interval(0.714, 0.764), interval(float("nan"), 1.0), interval(-1.25, 12.0)
    ('0.714 to 0.764', '–', '−1.25 to 12')
    """
    if math.isnan(low) or math.isnan(high):
        return "–"
    return f"{low:.3g} to {high:.3g}".replace("-", "\N{MINUS SIGN}")


def _section(outcome: Outcome, show: Show) -> Section:
    runs = _runs(outcome, show.steps)
    pictures: list[tuple[str, Picture]] = []
    missing = []
    for figure in show.figures:
        unit = FIGURES[figure]
        fitting = [one for one in runs if unit.fits(one.run)]
        for one in fitting:
            try:
                pictures.append((one.label if len(runs) > 1 else "", unit.draw(one.run)))
            except HeadscopeError as error:
                missing.append(f"{one.label}: {error}")
        if not fitting:
            missing.append(f"No run here has the tables of the figure {figure}.")
    table: Table | None = None
    if show.sql is not None:
        table, trouble = table_of(runs, show.sql, show.published)
        if trouble:
            missing.append(trouble)
    elif show.published is not None:
        table, _ = table_of([], "", show.published)
    if not runs:
        missing = ["The step behind this could not be carried out for this model."]
    return Section(show.paper, show.title, show.said, tuple(pictures), table, " ".join(missing))


def _models(outcome: Outcome) -> str:
    """The models by the names their runs give them."""
    names = []
    for key, (source, folder) in outcome.plan.room.sources.items():
        if folder is None:
            names.append(source)
        else:
            found = [
                open_run(outcome.runs[one.name]).record.model.name
                for one in outcome.plan.steps
                if one.name in outcome.runs and list(one.step.models().values()) == [key]
            ]
            names.append(found[0] if found else folder.name)
    few = list(dict.fromkeys(names))
    return ", ".join(few) if len(few) < 5 else f"{few[0]} … {few[-1]} ({len(few)} models)"


def _left_out(outcome: Outcome) -> list[str]:
    told = [f"{name} was left out: {why}" for name, why in outcome.plan.left_out.items()]
    return told + [
        f"{name} could not be carried out: {done.refused}"
        for name, done in outcome.done.items()
        if done.refused
    ]


def _steps(outcome: Outcome) -> Table:
    rows = []
    for one in outcome.plan.steps:
        done, run = outcome.done[one.name], outcome.runs.get(one.name)
        n = ""
        if run is not None and not done.refused and one.step.adds_to is None:
            counts = open_run(run).record.counts
            n = f"{counts['n_sequences']:,}" if counts.get("n_sequences") else ""
        where = _inside(run or one.folder(outcome.output), outcome.output)
        took = "–" if done.refused else people_seconds(done.seconds)
        rows.append((one.name, one.step.kind, n, took, "" if done.refused else where))
    return Table(("step", "kind", "sequences", "time", "folder"), tuple(rows))


def _inside(path: Path, output: Path) -> str:
    return str(path.relative_to(output)) if path.is_relative_to(output) else str(path)


def study_markdown(page: StudyPage) -> str:
    """The claims, the tables and what each figure shows, small enough for a documentation page."""
    parts = [f"# {page.title}", ""]
    parts += [f"{page.paper}, asked of {page.model}." if page.paper else page.model, ""]
    if page.about:
        parts += [page.about, ""]
    if page.command:
        parts += ["```", page.command, "```", ""]
    if page.claims:
        columns = ("claim", "here", "in the paper", "found here", "95 % interval", "n")
        rows = [(c.says, f"**{c.verdict}**", c.found, c.here, c.interval, c.n) for c in page.claims]
        parts += ["## Claim by claim", "", markdown_table(columns, rows), ""]
    for section in page.sections:
        title = f"{section.paper}: {section.title}" if section.paper else section.title
        parts += [f"## {title}", ""]
        if section.said:
            parts += [f"*In the paper:* {section.said}", ""]
        parts += [
            f"- {label + ': ' if label else ''}{picture.sentence}"
            for label, picture in section.pictures
        ]
        parts += [""] if section.pictures else []
        if section.table is not None:
            names = [name or " " for name in section.table.columns]
            parts += [markdown_table(names, section.table.rows), ""]
        if section.missing:
            parts += [f"({section.missing})", ""]
    if page.absent:
        parts += ["## What is not as in the paper", "", *(f"- {a}" for a in page.absent), ""]
    steps = [row[:4] for row in page.steps.rows]
    parts += ["## Steps", "", markdown_table(page.steps.columns[:4], steps), ""]
    return "\n".join(parts)
