"""Roles from a Python file that the user names."""

from __future__ import annotations

import hashlib
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from headscope.errors import HeadscopeError, InputError
from headscope.measures.roles.role import _origin


def load_roles(path: str | Path) -> str:
    """Run a Python file and register the roles it defines; where they come from, with its hash.

    The file is code and is run as such: it is read only because the user named it. A run records
    the file's name and SHA-256 beside every role that came from it.
    """
    file = Path(path).expanduser()
    try:
        source = file.read_bytes()
    except OSError as error:
        raise InputError(file, found=error.strerror or str(error), expected="a file") from None
    digest = hashlib.sha256(source).hexdigest()
    origin = f"{file.name} sha256:{digest}"
    # One module per content: the same file again is the same module, an edited one another.
    name = f"headscope_roles_{digest[:16]}"
    if name in sys.modules:
        return origin
    spec = spec_from_file_location(name, file)
    if spec is None:
        raise InputError(file, found="no Python file", expected="a .py file with @role functions")
    module = module_from_spec(spec)
    sys.modules[name] = module
    _origin.append(origin)
    try:
        exec(compile(source, str(file), "exec"), module.__dict__)
    except HeadscopeError:
        del sys.modules[name]
        raise
    except Exception as error:
        del sys.modules[name]
        line = error.lineno if isinstance(error, SyntaxError) else _line(error, str(file))
        found = f"{type(error).__name__}: {error}"
        raise InputError(file, found=found, expected="Python that runs", line=line) from error
    finally:
        _origin.pop()
    return origin


def _line(error: BaseException, file: str) -> int | None:
    """The last line of the file on the way to the error."""
    found, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            found = trace.tb_lineno
        trace = trace.tb_next
    return found
