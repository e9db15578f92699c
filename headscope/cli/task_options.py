"""Options that all verbs about tasks share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

ModelName: TypeAlias = Annotated[
    str, typer.Argument(help="A hub name, a model's folder, or: default.")
]
TaskName: TypeAlias = Annotated[
    str, typer.Option("--task", help="Such as SST-2, STS-B, SQuAD, masked-lm, classification.")
]
Output: TypeAlias = Annotated[Path, typer.Option("--output", "-o", help="Where the run goes.")]
Data: TypeAlias = Annotated[
    Path | None, typer.Option("--data", help="The data set's folder, or the folder of all.")
]
DevFile: TypeAlias = Annotated[Path | None, typer.Option("--dev", help="The file to answer.")]
TextColumn: TypeAlias = Annotated[str | None, typer.Option(help="Column of the text.")]
PairColumn: TypeAlias = Annotated[str | None, typer.Option(help="Column of segment B.")]
LabelColumn: TypeAlias = Annotated[str | None, typer.Option(help="Column of the label.")]
Rows: TypeAlias = Annotated[
    int | None, typer.Option("--rows", min=1, help="Answer N rows, drawn at random.")
]
Seed: TypeAlias = Annotated[int, typer.Option(min=0, help="Of all that is drawn at random.")]
MaxTokens: TypeAlias = Annotated[
    int | None, typer.Option(min=2, help="Longest input; by default 128, SQuAD 384.")
]
Resume: TypeAlias = Annotated[bool, typer.Option("--resume", help="Go on with an unfinished run.")]
AllowPickle: TypeAlias = Annotated[
    bool, typer.Option("--allow-pickle", help="Load pickled weights: they can run any code.")
]
AllowRemoteCode: TypeAlias = Annotated[
    bool, typer.Option("--allow-remote-code", help="Run code that comes with the model.")
]
Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Say what was found as JSON.")]
