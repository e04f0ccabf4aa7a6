"""JSON and TOML from files: what Python's parsers let pass or say in their own words is refused in one line.

Refused are keys that stand twice in an object, NaN and Infinity, numbers beyond float64, nesting beyond Python's
stack, and bytes that are not UTF-8. Every fault is a FileFormatError with the file and the line.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from rerank.errors import FileFormatError, shown
from rerank.files.source import read_text
from rerank.runtime import strict_json as strictjson
from rerank.runtime.strict_json import JSONFault, finite_number

_TOML_PLACE = re.compile(r"\(at line (\d+), column (\d+)\)")


def parse_json(
    text: str, source: str | Path, line: int | None = None, what: str = "JSON", remedy: str | None = None
) -> Any:
    """Return the value that a JSON text spells.

    source  file that the text stands in
    line    line of the file, where the text is one line of it; else the line of a fault is counted in the text
    what    what is expected, for messages
    remedy  what the user can do, for messages; None: correct the text

    Raises FileFormatError for what is no JSON, and for a key twice in an object, NaN, Infinity, a number beyond
    float64, and nesting that Python's parser does not follow.
    """
    try:
        return strictjson.parse_json(text, finite=True)
    except JSONFault as fault:
        remedy = remedy or f"correct the {'file' if line is None else 'line'}"
        at = fault.line if line is None else line
        raise FileFormatError(source, at, f"expected {what}, found {fault}; {remedy}.") from None


def parse_toml(text: str, source: str | Path, what: str = "TOML") -> dict[str, Any]:
    """Return the table that a TOML text spells; refused is what `parse_json` refuses."""
    try:
        return tomllib.loads(text, parse_float=_toml_float)
    except tomllib.TOMLDecodeError as fault:
        at, found = _toml_fault(text, str(fault))
        message = f"expected {what}, found {found}; correct it."
    except JSONFault as fault:
        at, message = None, f"expected {what}, found {fault}; correct it."
    except RecursionError:
        at, message = None, f"expected {what}, found brackets nested too deep; correct the file."
    except ValueError:  # a whole number of more digits than Python converts
        at, message = None, f"expected {what}, found a number of too many digits; correct it."
    raise FileFormatError(source, at, message)


def read_json(path: str | Path, expected: str) -> Any:
    """Return the value of a JSON file, plain or gzip.

    expected  what the file is, with its article, for messages ("a model file")
    """
    return parse_json(read_text(path, expected), path, what=f"{expected} in JSON")


def read_toml(path: str | Path, expected: str) -> dict[str, Any]:
    """Return the table of a TOML file; `expected` is as for `read_json`."""
    return parse_toml(read_text(path, expected), path, what=f"{expected} in TOML")


def _toml_fault(text: str, fault: str) -> tuple[int | None, str]:
    """Return the line of what tomllib refuses, None where it is the end, and what stands there."""
    place, lines = _TOML_PLACE.search(fault), text.split("\n")
    line = len(lines) if place is None else int(place[1])
    if fault.startswith("Cannot"):  # overwrite, mutate, declare twice
        return None if place is None else line, "a key or table that is there already"
    if place is None:
        return None, "a text that breaks off"
    return line, f"{shown(lines[line - 1].strip())} (column {place[2]})"


def _toml_float(token: str) -> float:
    if token.lstrip("+-") in ("inf", "nan"):
        raise JSONFault(f"{token}, which is no finite number")
    return finite_number(token.replace("_", ""))
