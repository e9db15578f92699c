"""Studies: a paper, or a question of one's own, as one declarative file.

A study names models, corpora, fine-tunings, steps, figures and claims. It is planned as a graph of
steps, whatever is wrong is refused before any work, what is finished is never done twice, and it
ends in one report in which our figures stand beside the published ones.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headscope.studies.runner import Outcome

__all__ = ["run_study"]


def run_study(
    study: str | Path,
    output: str | Path,
    *,
    data: str | Path | None = None,
    model: str | None = None,
    scale: str = "full",
    **options: Any,
) -> Outcome:
    """Carry a study out: a built-in one by name, or a file; `output` has its report at the end.

    `options` are the other fields of `headscope.studies.reading.Wishes`: `models`, `annotate`,
    `without`.
    """
    from headscope.studies.catalogue import data_folder, find_study
    from headscope.studies.conclusion import conclude
    from headscope.studies.plan import make_plan
    from headscope.studies.reading import Wishes
    from headscope.studies.runner import carry_out, check_output

    wishes = Wishes(scale=scale, model=model, **options)
    file = find_study(str(study), wishes)
    check_output(Path(output), file.document.name)
    plan = make_plan(file, data_folder(None if data is None else Path(data)))
    outcome = carry_out(plan, Path(output))
    conclude(outcome)
    return outcome
