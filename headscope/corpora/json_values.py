"""JSON whose errors, and whose members, know their line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from headscope.corpora.source import Source

_DECODER = json.JSONDecoder()


def parse(text: str, source: Source, line: int = 1) -> Any:
    """One JSON value; `line` is where the text starts in its file."""
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise _broken(error, source, line) from None
    except (ValueError, RecursionError) as error:
        raise _refused(error, source, line) from None


def parse_object(text: str, source: Source, line: int) -> dict[str, Any]:
    """One JSON object, as a line of JSONL must hold it."""
    value = parse(text, source, line)
    if not isinstance(value, dict):
        raise source.error(f"a JSON {type(value).__name__}", "a JSON object", line)
    return value


def members(text: str, source: Source) -> Iterator[tuple[int, str | None, Any]]:
    """The members of a list or an object with their lines and, in an object, their keys.

    Decoded one by one, because `json.loads` forgets where a member stood.
    """
    at, line = _skip(text, 0), 1
    opening = text[at : at + 1]
    if opening not in ("[", "{"):
        raise source.error("something else", "a JSON list or object of records", 1)
    closing = "]" if opening == "[" else "}"
    counted = 0
    at = _skip(text, at + 1)
    empty = text[at : at + 1] == closing
    while not empty:
        try:
            key, at = _key(text, at) if opening == "{" else (None, at)
            line += text.count("\n", counted, at)
            counted = at
            value, at = _DECODER.raw_decode(text, at)
        except json.JSONDecodeError as error:
            raise _broken(error, source, 1) from None
        except (ValueError, RecursionError) as error:
            raise _refused(error, source, line) from None
        yield line, key, value
        at = _skip(text, at)
        if text[at : at + 1] == closing:
            break
        if text[at : at + 1] != ",":
            where = json.JSONDecodeError(f"',' or '{closing}' expected", text, at)
            raise _broken(where, source, 1)
        at = _skip(text, at + 1)
    rest = _skip(text, at + 1)
    if rest < len(text):
        raise _broken(json.JSONDecodeError("more after the end", text, rest), source, 1)


def _key(text: str, at: int) -> tuple[str, int]:
    key, at = _DECODER.raw_decode(text, at)
    at = _skip(text, at)
    if not isinstance(key, str) or text[at : at + 1] != ":":
        raise json.JSONDecodeError("a key and ':' expected", text, at)
    return key, _skip(text, at + 1)


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\n\r":
        at += 1
    return at


def _refused(error: Exception, source: Source, line: int) -> Exception:
    """Valid JSON that Python will not build: nested without end, numbers of thousands of digits."""
    deep = isinstance(error, RecursionError)
    found = "JSON nested too deeply" if deep else f"a JSON value that is too large ({error})"
    return source.error(found, "records of texts", line)


def _broken(error: json.JSONDecodeError, source: Source, line: int) -> Exception:
    found = f"invalid JSON at column {error.colno} ({error.msg})"
    return source.error(found, "valid JSON", line + error.lineno - 1)
