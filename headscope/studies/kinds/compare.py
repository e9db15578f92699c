"""`do = "compare"`: what differs between runs over the same texts, or between runs of probes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from headscope.studies.room import Room
from headscope.studies.shape import Shape
from headscope.studies.step import STEPS, At, Cost, Job, Step


@STEPS.register("compare")
class Compare(Step):
    """The first run is the one before; roles or, of runs of probes, scores side by side."""

    kind: ClassVar[str] = "compare"
    runs: list[str] = Field(min_length=2)

    def models(self) -> Mapping[str, str]:
        return {}

    def steps(self) -> Mapping[str, list[str]]:
        return {"runs": self.runs}

    def identity(self, room: Room, at: At) -> Mapping[str, Any]:
        return {}

    def cost(self, room: Room, shapes: Mapping[str, Shape], at: At) -> Cost:
        return Cost(0.0, 6.0, 1_000_000)

    def carry_out(self, job: Job) -> Mapping[str, Any]:
        from headscope.analyses.compare import compare_runs, write_comparison
        from headscope.analyses.probe_models import (
            are_probes,
            compare_probes,
            write_probe_comparison,
        )
        from headscope.figures import render_report
        from headscope.store import remove_run

        job.progress.stage("Comparing runs")
        runs = [job.run(name) for name in self.runs]
        remove_run(job.folder)
        if are_probes(runs):
            written = write_probe_comparison(runs, compare_probes(runs), job.folder)
        else:
            written = write_comparison(runs, compare_runs(runs), job.folder)
        written.write_file("report.html", render_report(written))
        return {}
