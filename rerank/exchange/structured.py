"""JSON and UBJSON (draft 12, as XGBoost writes it) of model files: what a key holds, checked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from rerank.errors import shown
from rerank.exchange.registry import FormatFault
from rerank.runtime.strict_json import ParseFault, parse_json


def decoded(content: bytes) -> str:
    """Return the text of a file; raises FormatFault."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise FormatFault("UTF-8 text", "other bytes") from None


def parsed_json(content: bytes) -> Any:
    """Return the value of a JSON file; raises FormatFault."""
    try:
        return parse_json(content, finite=True)
    except ParseFault as fault:
        raise FormatFault("JSON", str(fault), fault.line) from None


def compact_json(value: object) -> bytes:
    """Return a value as JSON without spaces."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def indented_json(value: object) -> bytes:
    """Return a value as JSON for people to read."""
    return (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode()


def member(value: object, keys: str, kind: type | tuple[type, ...] = object) -> Any:
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


def feature_names_of(value: object) -> tuple[str, ...]:
    """Return a list of feature names; raises FormatFault."""
    if not isinstance(value, list):
        raise FormatFault("feature names as a list", shown(value))
    names = tuple(value)
    for name in names:
        if not isinstance(name, str):
            raise FormatFault("feature names as text", shown(name))
    return names


DEEPEST_UBJSON = 64
_NUMBERS = {"i": ">i1", "U": ">u1", "I": ">i2", "l": ">i4", "L": ">i8", "d": ">f4", "D": ">f8"}
_CONSTANTS = {"Z": None, "T": True, "F": False}


def parse_ubjson(content: bytes) -> Any:
    """Return the value of a UBJSON text; raises FormatFault where it is none."""
    reader = _Reader(content)
    value = reader.value(reader.marker(), 0)
    if reader.position != len(content):
        raise FormatFault("one UBJSON value", "more bytes behind it")
    return value


class _Reader:
    """What is left of the bytes."""

    def __init__(self, content: bytes) -> None:
        self.content, self.position = content, 0

    def take(self, size: int) -> bytes:
        if size < 0 or self.position + size > len(self.content):
            raise FormatFault("a whole UBJSON file", "one that breaks off")
        self.position += size
        return self.content[self.position - size : self.position]

    def marker(self) -> str:
        while True:
            marker = self.take(1).decode("latin-1")
            if marker != "N":
                return marker

    def value(self, marker: str, depth: int) -> Any:
        if marker in _CONSTANTS:
            return _CONSTANTS[marker]
        if marker in _NUMBERS:
            return self._array(marker, 1)[0]
        if marker == "S":
            return self._text()
        if marker not in "[{" or depth >= DEEPEST_UBJSON:
            raise FormatFault("a UBJSON value", f"the marker {marker!r} at byte {self.position}")
        return self._list(depth + 1) if marker == "[" else self._object(depth + 1)

    def _array(self, marker: str, count: int) -> list[Any]:
        kind = np.dtype(_NUMBERS[marker])
        values = np.frombuffer(self.take(count * kind.itemsize), dtype=kind)
        numbers: list[Any] = values.astype(kind.newbyteorder("=")).tolist()
        return numbers

    def _count(self) -> int:
        marker = self.marker()
        if marker not in "iUIlL":
            raise FormatFault("a count", f"the marker {marker!r} at byte {self.position}")
        count = int(self._array(marker, 1)[0])
        if not 0 <= count <= len(self.content):
            raise FormatFault("a count of what is in the file", str(count))
        return count

    def _text(self) -> str:
        return decoded(self.take(self._count()))

    def _head(self) -> tuple[str, int | None]:
        """Return type and count of a container, empty and None where it does not say."""
        kind, count = "", None
        if self._next_is("$"):
            kind = self.take(1).decode("latin-1")
        if self._next_is("#"):
            count = self._count()
        if kind and (count is None or kind not in [*_NUMBERS, "S"]):
            raise FormatFault("a typed list of numbers with its count", f"type {kind!r} at byte {self.position}")
        return kind, count

    def _next_is(self, sign: str) -> bool:
        follows = self.content[self.position : self.position + 1] == sign.encode()
        self.position += follows
        return follows

    def _list(self, depth: int) -> list[Any]:
        kind, count = self._head()
        if kind in _NUMBERS:
            return self._array(kind, count or 0)
        values: list[Any] = []
        while count is None or len(values) < count:
            marker = kind or self.marker()
            if count is None and marker == "]":
                break
            values.append(self.value(marker, depth))
        return values

    def _object(self, depth: int) -> dict[str, Any]:
        kind, count = self._head()
        members: dict[str, Any] = {}
        while count is None or len(members) < count:
            if count is None and self._next_is("}"):
                break
            key = self._text()
            if key in members:
                raise FormatFault("each key once", f"{key[:60]!r} again")
            members[key] = self.value(kind or self.marker(), depth)
        return members
