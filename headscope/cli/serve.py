"""`headscope serve`: the explorer in the browser."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headscope.cli.engine_options import Device

if TYPE_CHECKING:
    from headscope.explorer.app import Explorer


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command()(serve)


def serve(
    folder: Annotated[Path, typer.Argument(help="A folder with runs in it.")] = Path(),
    model: Annotated[
        str | None,
        typer.Option(help="For live attention: a hub name, a model's folder, or: default."),
    ] = None,
    corpus: Annotated[
        list[Path] | None,
        typer.Option("--corpus", "-c", help="A corpus a run has read, to show its sentences."),
    ] = None,
    host: Annotated[
        str, typer.Option(help="The address to listen on; other than loopback only with a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes any free one.")] = 8462,
    device: Device = "auto",
    allow_pickle: Annotated[
        bool, typer.Option("--allow-pickle", help="Load pickled weights; they can run any code.")
    ] = False,
    allow_remote_code: Annotated[
        bool, typer.Option("--allow-remote-code", help="Run code that comes with the model.")
    ] = False,
    open_: Annotated[bool, typer.Option("--open/--no-open", help="Open a browser.")] = False,
) -> None:
    """Look at runs in the browser: atlas, tables with SQL, live attention, labelling."""
    from headscope.errors import InputError
    from headscope.explorer.app import Explorer
    from headscope.explorer.folder import Folder
    from headscope.explorer.server import serve as listen

    Folder.at(folder)
    for path in corpus or ():
        if not path.is_file():
            raise InputError(path, found="no such file", expected="a corpus")
    live = None
    if model is not None:
        from headscope.explorer.live.loading import load_with_head
        from headscope.explorer.live.passes import LiveModel

        options = {"allow_pickle": allow_pickle, "allow_remote_code": allow_remote_code}
        live = LiveModel(load_with_head(model, device=device, **options))

    def make(host: str, port: int, token: str | None) -> Explorer:
        return Explorer(folder, live=live, corpora=corpus or (), host=host, port=port, token=token)

    def say(address: str) -> None:
        typer.echo(f"{address}\nCtrl-C ends it.")
        if open_:
            webbrowser.open(address)

    listen(make, host, port, say=say)
