"""JSON as its standard defines it, and TOML: no numbers or nesting beyond Python's limits."""

import json
import math
import re
import tomllib
from itertools import accumulate
from typing import Any, NoReturn

from rerank.errors import shown

MOST_DIGITS = 308  # of a whole number: those with no more are finite as float64
MOST_NESTED = 500  # brackets; at Python's limit the stack overflows in a process with Java (Python 3.13)
_BRACKETS = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[{\]}]', re.DOTALL)  # strings are matched whole, to be skipped
_LINE_OF_TOML = re.compile(r"\(at line (\d+)")


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
        fault = "a text that breaks off" if error.pos >= len(decoded.rstrip()) else "text that is not JSON"
        raise ParseFault(f"{fault} at column {error.colno}", error.lineno) from None
    except ParseFault:
        raise
    except ValueError:  # Python's limit of the digits of an integer
        raise ParseFault("a number of thousands of digits") from None


def check_nesting(text: str) -> None:
    """Raise ParseFault if a JSON text has more than MOST_NESTED nested brackets."""
    if text.count("[") + text.count("{") <= MOST_NESTED:
        return
    brackets = (token[0] for token in _BRACKETS.findall(text) if token[0] in "[{]}")
    if max(accumulate(1 if bracket in "[{" else -1 for bracket in brackets), default=0) > MOST_NESTED:
        raise ParseFault("brackets nested too deep")


def json_number(token: str) -> float:
    """Return the number in a text, or raise ParseFault if it is not finite."""
    number = float(token)
    if not math.isfinite(number):
        raise ParseFault(f"the number {shown(token)}, which is not finite")
    return number


def _whole_number(token: str) -> int:
    if len(token.lstrip("-")) > MOST_DIGITS:
        raise ParseFault(f"a number of {len(token.lstrip('-'))} digits")
    return int(token)


def _refuse(constant: str) -> NoReturn:
    raise ParseFault(f"{constant}, which is no number of JSON")


_ANY = json.JSONDecoder(parse_constant=_refuse)
_FINITE = json.JSONDecoder(parse_constant=_refuse, parse_int=_whole_number, parse_float=json_number)


def parse_toml(text: str) -> dict[str, Any]:
    """Return the table of a TOML text; raise ParseFault, with the line, if it is not TOML."""
    try:
        return tomllib.loads(text, parse_float=lambda token: json_number(token.replace("_", "")))
    except tomllib.TOMLDecodeError as error:
        location = _LINE_OF_TOML.search(str(error))
        raise ParseFault(f"other text: {error}", int(location[1]) if location else None) from None
    except ParseFault:
        raise
    except (RecursionError, ValueError):
        raise ParseFault("brackets nested too deep, or a number of too many digits") from None
