"""Analyses: what is found in a finished run, without its model and without torch.

An analysis is one file in this folder with one decorated function::

    @analysis("roles", tables=("sieve",), order=10)
    def roles(run: Run) -> None: ...

It reads the run's tables, and adds its own with `run.add_table`. Those that are registered run by
themselves, with their defaults, right after a pass, on every run that has their tables; asking
again with other parameters (`headscope roles RUN --tau 2`) takes no new pass.
"""

from headscope.analyses.registered import ANALYSES, Analysis, analysis, run_analyses

__all__ = ["ANALYSES", "Analysis", "analysis", "run_analyses"]
