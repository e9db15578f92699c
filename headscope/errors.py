"""The errors people see.

Every error headscope raises on purpose is a `HeadscopeError`: one clear message, exit code 2,
no traceback on the command line. Anything else that escapes is a bug.
"""

from __future__ import annotations

from pathlib import Path


class HeadscopeError(Exception):
    """Something the user can mend; the message says how."""

    exit_code = 2


#: Longer quotations from a file say nothing more.
_LONGEST = 500


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 100]} … {text[-99:]}"


class InputError(HeadscopeError):
    """A file that is not what it should be: where, what was found, what was expected.

    >>> print(InputError("a.conllu", line=3, found="9 columns", expected="10 columns"))
    a.conllu:3: found 9 columns; expected 10 columns
    """

    def __init__(
        self,
        path: str | Path,
        *,
        found: str,
        expected: str,
        line: int | None = None,
    ) -> None:
        self.path, self.line = str(path), line
        self.found, self.expected = _shortened(found), _shortened(expected)
        where = self.path if line is None else f"{self.path}:{line}"
        super().__init__(f"{where}: found {self.found}; expected {self.expected}")


class ModelError(HeadscopeError):
    """A model that cannot be loaded, or whose attention cannot be tapped."""


class RunError(HeadscopeError):
    """A run folder that cannot be written, resumed, opened or queried."""


class UsageError(HeadscopeError):
    """An option or a name that makes no sense."""
