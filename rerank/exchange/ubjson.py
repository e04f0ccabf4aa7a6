"""UBJSON, in which XGBoost writes models: the types of values that these have."""

import io
from typing import Any

import numpy as np

from rerank.exchange.registry import FormatFault

_NUMBERS = {"i": ">i1", "U": ">u1", "I": ">i2", "l": ">i4", "L": ">i8", "d": ">f4", "D": ">f8"}
_CONSTANTS = {"Z": None, "T": True, "F": False}
DEEPEST_UBJSON = 64


def parse_ubjson(content: bytes) -> Any:
    """Return the value of a UBJSON text; raises FormatFault where it is none."""
    file = io.BytesIO(content)
    value = _value(file, _marker(file), 0)
    if file.read(1):
        raise FormatFault("one UBJSON value", "more bytes behind it")
    return value


def _value(file: io.BytesIO, marker: str, depth: int) -> Any:
    """Return the value that follows its marker."""
    if marker in _CONSTANTS:
        return _CONSTANTS[marker]
    if marker in _NUMBERS:
        return _numbers(file, marker, 1)[0]
    if marker == "S":
        return _name(file, depth)
    if marker not in "[{" or depth >= DEEPEST_UBJSON:
        raise FormatFault("a UBJSON value", f"the marker {marker!r} at byte {file.tell()}")
    kind = _marker(file) if _next_is(file, b"$") else ""
    count = int(_value(file, _marker(file), depth + 1)) if _next_is(file, b"#") else None
    if marker == "[" and kind:
        return _numbers(file, kind, count or 0)
    items: list[tuple[str, Any]] = []
    end = b"]" if marker == "[" else b"}"
    while len(items) < count if count is not None else not _next_is(file, end):
        key = _name(file, depth) if marker == "{" else ""
        items.append((key, _value(file, kind or _marker(file), depth + 1)))
    return dict(items) if marker == "{" else [value for _, value in items]


def _marker(file: io.BytesIO) -> str:
    return _bytes(file, 1).decode("latin-1")


def _name(file: io.BytesIO, depth: int) -> str:
    return _bytes(file, int(_value(file, _marker(file), depth + 1))).decode()


def _numbers(file: io.BytesIO, marker: str, count: int) -> list[Any]:
    kind = np.dtype(_NUMBERS[marker])
    values = np.frombuffer(_bytes(file, count * kind.itemsize), dtype=kind)
    return values.astype(kind.newbyteorder("=")).tolist()  # type: ignore[no-any-return]


def _bytes(file: io.BytesIO, size: int) -> bytes:
    content = file.read(min(max(size, 0), len(file.getbuffer())))
    if len(content) != size:
        raise FormatFault("a whole UBJSON file", "one that breaks off")
    return content


def _next_is(file: io.BytesIO, sign: bytes) -> bool:
    """Return whether a sign follows, and pass over it."""
    follows = file.getbuffer()[file.tell() : file.tell() + 1] == sign
    file.seek(follows, io.SEEK_CUR)
    return follows
