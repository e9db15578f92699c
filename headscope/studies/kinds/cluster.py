"""`do = "cluster"`: kinds of heads of one run, or of several in one fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from headscope.studies.room import Room
from headscope.studies.shape import Shape
from headscope.studies.step import STEPS, At, Cost, Job, Step


@STEPS.register("cluster")
class Cluster(Step):
    """One run: replaces its tables of clusters. Several runs: a run of its own that compares."""

    kind: ClassVar[str] = "cluster"
    runs: list[str] = Field(min_length=1)
    k: int = Field(4, ge=2)
    method: Literal["kmeans", "gmm"] = "kmeans"
    stability: bool = Field(False, description="refit every number of clusters, not only k")
    together: bool = Field(True, description="several runs: one fit for all")
    seed: int = Field(0, ge=0)

    def models(self) -> Mapping[str, str]:
        return {}

    def steps(self) -> Mapping[str, list[str]]:
        return {"runs": self.runs}

    @property
    def adds_to(self) -> str | None:
        return self.runs[0] if len(self.runs) == 1 else None

    def identity(self, room: Room, at: At) -> Mapping[str, Any]:
        return self.model_dump(include={"k", "method", "stability", "together", "seed"})

    def cost(self, room: Room, shapes: Mapping[str, Shape], at: At) -> Cost:
        return Cost(0.0, 25.0 if self.stability else 8.0, 300_000)

    def carry_out(self, job: Job) -> Mapping[str, Any]:
        from headscope.analyses.cluster_comparison import cluster_several, write_comparison
        from headscope.analyses.cluster_tables import Settings, write_clusters
        from headscope.figures import render_report
        from headscope.store import remove_run

        job.progress.stage("Clustering heads")
        settings = Settings(self.k, self.method, self.seed, self.stability)
        runs = [job.run(name) for name in self.runs]
        if len(runs) == 1:
            written = runs[0]
            write_clusters(written, settings)
        else:
            remove_run(job.folder)
            found = cluster_several(runs, settings, together=self.together)
            written = write_comparison(job.folder, runs, found, settings, together=self.together)
        written.write_file("report.html", render_report(written))
        return {}
