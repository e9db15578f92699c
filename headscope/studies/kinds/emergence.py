"""`do = "emergence"`: how roles emerge over the checkpoints of one training run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from headscope.studies.room import Room
from headscope.studies.shape import Shape
from headscope.studies.step import STEPS, At, Cost, Job, Step


@STEPS.register("emergence")
class Emergence(Step):
    """The runs of all checkpoints over one corpus, as one table by training step."""

    kind: ClassVar[str] = "emergence"
    runs: list[str] = Field(min_length=2)

    def models(self) -> Mapping[str, str]:
        return {}

    def steps(self) -> Mapping[str, list[str]]:
        return {"runs": self.runs}

    def identity(self, room: Room, at: At) -> Mapping[str, Any]:
        return {}

    def cost(self, room: Room, shapes: Mapping[str, Shape], at: At) -> Cost:
        return Cost(0.0, 3.0, 200_000)

    def carry_out(self, job: Job) -> Mapping[str, Any]:
        from headscope.analyses.emergence import write_emergence
        from headscope.figures import render_report
        from headscope.store import remove_run

        job.progress.stage("Putting checkpoints in order")
        remove_run(job.folder)
        run = write_emergence([job.run(name) for name in self.runs], job.folder)
        run.write_file("report.html", render_report(run))
        return {}
