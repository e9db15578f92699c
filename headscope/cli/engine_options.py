"""Options of the verbs that run a model over many texts: which engine, where, in which numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import typer

if TYPE_CHECKING:
    from headscope.engine.executor import Executor

Engine: TypeAlias = Annotated[
    str, typer.Option("--engine", help="local (this process) or ray (many, or a cluster).")
]
Address: TypeAlias = Annotated[
    str | None, typer.Option(help="Of a Ray cluster, HOST:PORT; by default one is started here.")
]
Workers: TypeAlias = Annotated[
    int | None, typer.Option(min=1, help="Ray: processes; by default as many as there is room for.")
]
Threads: TypeAlias = Annotated[
    int | None, typer.Option(min=1, help="Threads of each process; they change the last digits.")
]
Device: TypeAlias = Annotated[
    str, typer.Option(help="Where the model runs: auto, cpu, cuda or mps.")
]
Dtype: TypeAlias = Annotated[
    Literal["float32", "bfloat16", "float16"],
    typer.Option(help="Numbers the model computes in; attention is measured in float32."),
]


def open_engine(
    name: str,
    address: str | None,
    workers: int | None,
    threads: int | None,
    device: str,
) -> Executor:
    """The engine of that name; what is wrong with the other words is told before any work."""
    from headscope.engine.executor import ENGINES

    return ENGINES[name](address, workers, threads, device)
