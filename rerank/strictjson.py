"""JSON as its standard has it: no key twice, no NaN or Infinity, no number or nesting that cannot be held."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, NoReturn

from rerank.errors import shown


class JSONFault(ValueError):
    """What is wrong with the text, in one line without a place.

    line  1-based, or None where it is not known
    """

    def __init__(self, found: str, line: int | None = None) -> None:
        super().__init__(found)
        self.line = line


def parse_json(text: str | bytes) -> Any:
    """Return the value that JSON text (bytes: UTF-8) spells; raise JSONFault where it is none."""
    try:
        decoded = text if isinstance(text, str) else text.decode("utf-8")
        return json.loads(decoded, object_pairs_hook=_once, parse_constant=_refuse)
    except UnicodeDecodeError as error:
        raise JSONFault(f"byte 0x{error.object[error.start]:02x}, which is no UTF-8") from None
    except json.JSONDecodeError as error:
        raise JSONFault(f"other text ({error})", error.lineno) from None
    except RecursionError:
        raise JSONFault("brackets nested too deep") from None
    except JSONFault:
        raise
    except ValueError:  # Python's bound on the digits of a whole number
        raise JSONFault("a number of thousands of digits") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        raise JSONFault(f"the key {shown(counts.most_common(1)[0][0])} twice in one object")
    return found


def _refuse(constant: str) -> NoReturn:
    raise JSONFault(f"{constant}, which is no number of JSON")
