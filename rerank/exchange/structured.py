"""JSON of model files: what a key holds, checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rerank.errors import shown
from rerank.exchange.registry import FormatFault
from rerank.runtime.strict_json import ParseFault, parse_json


def parsed(content: bytes) -> Any:
    """Return the value of a JSON file; raises FormatFault."""
    try:
        return parse_json(content, finite=True)
    except ParseFault as fault:
        raise FormatFault("JSON", str(fault), fault.line) from None


def member(value: Any, keys: str, kind: type | tuple[type, ...] = object) -> Any:
    """Return the value of `outer.inner` keys; raises FormatFault where it is missing or not of the type `kind`."""
    path = ""
    for key in keys.split("."):
        if not isinstance(value, Mapping) or key not in value:
            raise FormatFault(f"the key {path + key}", "none" if isinstance(value, Mapping) else shown(value))
        value, path = value[key], f"{path}{key}."
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool and kind is not object):
        names = [each.__name__ for each in (kind if isinstance(kind, tuple) else (kind,))]
        words = {"dict": "an object", "list": "a list", "str": "text", "int": "a whole number", "float": "a number"}
        raise FormatFault(f"{keys} as {' or '.join(words.get(name, name) for name in names)}", shown(value))
    return value


def names_of(value: Any, what: str) -> tuple[str, ...]:
    """Return a list of texts; raises FormatFault."""
    if not isinstance(value, list):
        raise FormatFault(f"{what} as a list", shown(value))
    names = tuple(value)
    for name in names:
        if not isinstance(name, str):
            raise FormatFault(f"{what} as text", shown(name))
    return names
