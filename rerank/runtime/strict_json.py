"""JSON as its standard defines it, and TOML: no duplicate keys, no numbers or nesting beyond Python's limits.

TOML's numbers are finite, and its errors are worded as those of JSON.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections import Counter
from typing import Any, NoReturn

from rerank.errors import shown

MOST_DIGITS = 308  # every whole number of so many digits is a finite float64
MOST_NESTED = 500  # brackets; at Python's limit the stack overflows in a process with Java (Python 3.13)
_BRACKETS = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[{\]}]', re.DOTALL)  # strings are matched whole, to be skipped

# Message of Python's parser -> description of the text.
_FAULTS = {
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


class ParseFault(ValueError):
    """An error in a text, without the name of a file.

    Parameters
    ----------
    description : str
        What was found, in one line.
    line : int, optional
        Line of the text, 1-based, if known.

    """

    def __init__(self, description: str, line: int | None = None) -> None:
        super().__init__(description)
        self.line = line


def parse_json(text: str | bytes, finite: bool = False) -> Any:
    """Return the value of a JSON text."""
    try:
        decoded = text if isinstance(text, str) else text.decode("utf-8")
        check_nesting(decoded)
        return (_FINITE if finite else _ANY).decode(decoded)
    except UnicodeDecodeError as error:
        raise ParseFault(f"byte 0x{error.object[error.start]:02x}, which is no UTF-8") from None
    except json.JSONDecodeError as error:
        if not decoded.strip():
            raise ParseFault("an empty text") from None
        cut_off = error.pos >= len(decoded.rstrip())
        fault = "a text that breaks off" if cut_off else _FAULTS.get(error.msg, "text that is not JSON")
        raise ParseFault(f"{fault} at column {error.colno}", error.lineno) from None
    except ParseFault:
        raise
    except ValueError:  # Python's limit of the digits of an integer
        raise ParseFault("a number of thousands of digits") from None


def check_nesting(text: str) -> None:
    """Raise ParseFault if a JSON text has more than MOST_NESTED nested brackets."""
    if text.count("[") + text.count("{") <= MOST_NESTED:
        return
    depth = 0
    for token in _BRACKETS.finditer(text):
        first = text[token.start()]
        if first in "[{":
            depth += 1
            if depth > MOST_NESTED:
                raise ParseFault("brackets nested too deep")
        elif first in "]}":
            depth -= 1


def finite_number(token: str) -> float:
    """Return the number in a text, or raise ParseFault if it is beyond float64."""
    number = float(token)
    if not math.isfinite(number):
        raise ParseFault(f"the number {shown(token)}, which is beyond 1.8e308")
    return number


def _whole_number(token: str) -> int:
    if len(token.lstrip("-")) > MOST_DIGITS:
        raise ParseFault(f"a number of {len(token.lstrip('-'))} digits")
    return int(token)


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        raise ParseFault(f"the key {shown(counts.most_common(1)[0][0])} twice in one object")
    return members


def _refuse(constant: str) -> NoReturn:
    raise ParseFault(f"{constant}, which is no number of JSON")


_ANY = json.JSONDecoder(object_pairs_hook=_without_duplicates, parse_constant=_refuse)
_FINITE = json.JSONDecoder(
    object_pairs_hook=_without_duplicates, parse_constant=_refuse, parse_int=_whole_number, parse_float=finite_number
)


MOST_PARTS = 64  # of a dotted key: tomllib takes the square of their number
_STRING = re.compile(r""""(?:[^"\\\n]++|\\.)*+"?|'[^'\n]*+'?""")
_LONG_KEY = re.compile(rf"(?<![\w-])(?:[\w-]++[ \t]*+\.[ \t]*+){{{MOST_PARTS}}}")
_LOCATION = re.compile(r"\(at line (\d+), column (\d+)\)")


def parse_toml(text: str) -> dict[str, Any]:
    """Return the table of a TOML text; raise ParseFault, with the line, if it is not TOML."""
    long_key = _LONG_KEY.search(_STRING.sub("s", text))
    if long_key is not None:
        raise ParseFault(f"a key of over {MOST_PARTS} parts, {shown(long_key[0])}")
    try:
        return tomllib.loads(text, parse_float=_finite)
    except tomllib.TOMLDecodeError as error:
        raise _toml_fault(text, str(error)) from None
    except ParseFault:
        raise
    except RecursionError:
        raise ParseFault("brackets nested too deep") from None
    except ValueError:  # an integer of more digits than Python converts
        raise ParseFault("a number of too many digits") from None


def _toml_fault(text: str, message: str) -> ParseFault:
    location, lines = _LOCATION.search(message), text.split("\n")
    line = len(lines) if location is None else int(location[1])
    if message.startswith("Cannot"):  # overwrite, mutate, declare twice
        return ParseFault("a key or table that is there already", None if location is None else line)
    if location is None:
        return ParseFault("a text that breaks off")
    return ParseFault(f"{shown(lines[line - 1].strip())} (column {location[2]})", line)


def _finite(token: str) -> float:
    if token.lstrip("+-") in ("inf", "nan"):
        raise ParseFault(f"{token}, which is no finite number")
    return finite_number(token.replace("_", ""))
