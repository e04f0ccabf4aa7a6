"""JSON and TOML from files: what Python's parsers let pass or say in their own words is refused in one line.

Refused are keys that stand twice in an object, NaN and Infinity, numbers beyond float64, nesting beyond Python's
stack, and bytes that are not UTF-8. Every fault is a FileFormatError with the file and the line.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from pathlib import Path
from typing import Any, NoReturn

from rerank.errors import FileFormatError
from rerank.files.source import read_text, shown

MOST_DIGITS = 308  # every whole number of so many digits is a finite float64
NESTED = "brackets nested too deeply"

# What Python's parser says -> what stands in the text.
_JSON_FAULTS = {
    "Expecting value": "no value",
    "Unterminated string starting at": "a string without its closing quote",
    "Extra data": "more text after the value",
    "Expecting ',' delimiter": "no comma",
    "Expecting ':' delimiter": "no colon",
    "Expecting property name enclosed in double quotes": "a key without double quotes",
    "Illegal trailing comma before end of object": "a comma before the end of an object",
    "Illegal trailing comma before end of array": "a comma before the end of a list",
    "Invalid control character at": "a control character in a string",
    "Invalid \\escape": "an unknown escape in a string",
    "Invalid \\uXXXX escape": "an unfinished \\u escape in a string",
    "Unexpected UTF-8 BOM (decode using utf-8-sig)": "a byte order mark",
}
_TOML_PLACE = re.compile(r"\(at line (\d+), column (\d+)\)")


class _RefusedValue(Exception):
    """A value that JSON or TOML may spell but no file of ours may hold."""


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
    remedy = remedy or f"correct the {'file' if line is None else 'line'}"
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as fault:
        at: int | None = fault.lineno if line is None else line
        cut_off = fault.pos >= len(text.rstrip())
        found = "a text that breaks off" if cut_off else _JSON_FAULTS.get(fault.msg, "text that is not JSON")
        message = f"expected {what}, found {found} at column {fault.colno}; {remedy}."
    except _RefusedValue as fault:
        at, message = line, f"expected {what}, found {fault}; {remedy}."
    except RecursionError:
        at, message = line, f"expected {what}, found {NESTED}; {remedy}."
    raise FileFormatError(source, at, message)


def parse_toml(text: str, source: str | Path, what: str = "TOML") -> dict[str, Any]:
    """Return the table that a TOML text spells; refused is what `parse_json` refuses."""
    try:
        return tomllib.loads(text, parse_float=_toml_float)
    except tomllib.TOMLDecodeError as fault:
        at, found = _toml_fault(text, str(fault))
        message = f"expected {what}, found {found}; correct it."
    except _RefusedValue as fault:
        at, message = None, f"expected {what}, found {fault}; correct it."
    except RecursionError:
        at, message = None, f"expected {what}, found {NESTED}; correct the file."
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


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for number, name in enumerate(names) if name in names[:number])
        raise _RefusedValue(f"the key {shown(twice)} twice in an object")
    return members


def _whole_number(token: str) -> int:
    if len(token.lstrip("-")) > MOST_DIGITS:
        raise _RefusedValue(f"a number of {len(token.lstrip('-'))} digits")
    return int(token)


def _finite(token: str) -> float:
    number = float(token)
    if not math.isfinite(number):
        raise _RefusedValue(f"the number {shown(token)}, which is beyond 1.8e308")
    return number


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
        raise _RefusedValue(f"{token}, which is no finite number")
    return _finite(token.replace("_", ""))


def _refuse_constant(name: str) -> NoReturn:
    raise _RefusedValue(f"{name}, which JSON does not have")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_whole_number, parse_float=_finite, parse_constant=_refuse_constant
)
