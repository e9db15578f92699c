"""`do = "roles"`: test which roles heads have, otherwise than with the defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from headscope.studies.room import Room
from headscope.studies.shape import Shape
from headscope.studies.step import STEPS, At, Cost, Job, Step


@STEPS.register("roles")
class Roles(Step):
    """Replaces the tables `roles` and `role_overlaps` of the run of another step."""

    kind: ClassVar[str] = "roles"
    run: str
    tau: float | Literal["auto"] = 3.0
    alpha: float = Field(0.05, gt=0, lt=1)
    test: Literal["z", "t"] = "z"
    correction: Literal["bh", "holm", "none"] = "bh"

    def models(self) -> Mapping[str, str]:
        return {}

    def steps(self) -> Mapping[str, list[str]]:
        return {"run": [self.run]}

    @property
    def adds_to(self) -> str | None:
        return self.run

    def identity(self, room: Room, at: At) -> Mapping[str, Any]:
        return self.model_dump(include={"tau", "alpha", "test", "correction"})

    def cost(self, room: Room, shapes: Mapping[str, Shape], at: At) -> Cost:
        return Cost(0.0, 5.0)

    def carry_out(self, job: Job) -> Mapping[str, Any]:
        from headscope.analyses.role_test import RoleTestOptions
        from headscope.analyses.roles import add_roles
        from headscope.figures import render_report

        run = job.run(self.run)
        job.progress.stage("Testing roles")
        add_roles(run, RoleTestOptions(self.tau, self.alpha, self.test, self.correction))
        run.write_file("report.html", render_report(run))
        return {}
