"""The command line: one file per verb, nothing heavy imported before it is used."""

from __future__ import annotations

import sys

from headscope.errors import HeadscopeError


def start() -> None:
    """What the command `headscope` and `python -m headscope` run."""
    from headscope.cli.steady_memory import steady_memory

    steady_memory()
    main()


def main() -> None:
    """Run a verb; what a user can mend is one message and exit code 2, never a traceback."""
    from headscope.cli.app import app

    try:
        app()
    except HeadscopeError as error:
        sys.stderr.write(f"headscope: {error}\n")
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)
