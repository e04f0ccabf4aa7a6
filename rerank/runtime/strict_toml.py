"""TOML with finite numbers, and with errors worded as those of JSON."""

from __future__ import annotations

import re
import tomllib
from typing import Any

from rerank.errors import shown
from rerank.runtime.strict_json import ParseFault, finite_number

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
        raise _fault(text, str(error)) from None
    except ParseFault:
        raise
    except RecursionError:
        raise ParseFault("brackets nested too deep") from None
    except ValueError:  # an integer of more digits than Python converts
        raise ParseFault("a number of too many digits") from None


def _fault(text: str, message: str) -> ParseFault:
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
