"""Columns of a click log as numbers: from a block of rows, checked, to the arrays of the whole log."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rerank.clicks.formats import Block
from rerank.clicks.record import Numbers
from rerank.errors import FileFormatError, shown
from rerank.files.source import LineFault
from rerank.types import Floats, Ints
from rerank.types.ids import ID_RULE, MOST_LETTERS, first_broken, is_unicode

MISSING = -(2**31)  # position of a row without one
MILLISECONDS = 1e11  # a time from here on counts milliseconds: seconds reach it in the year 5138
UNUSABLE = -1  # number of a query that cannot be an id


class Coded(NamedTuple):
    """Texts as distinct values and the number of the value of each row."""

    values: list[str]
    numbers: NDArray[Any]


@dataclass(frozen=True, eq=False)
class Batch:
    """The checked values of a block; optional columns are None where the log has none."""

    query: Coded
    document: Coded
    position: Ints
    clicked: NDArray[np.bool_]
    session: Coded | None = None
    time: Floats | None = None
    ranker: Coded | None = None
    credit: Floats | None = None


class Codes:
    """Numbers of texts, by first appearance; texts with the same key are one, named by the first, or by its key."""

    def __init__(self, key: Callable[[str], str | None] = str, named_by_key: bool = False) -> None:
        self.names: list[str] = []
        self._key, self._named_by_key = key, named_by_key
        self._of_text: dict[str, int] = {}
        self._of_key: dict[str, int] = {}

    def of(self, coded: Coded) -> Numbers:
        """Return the number of each row, UNUSABLE where the text has no key."""
        known = list(map(self._of_text.get, coded.values))
        numbers = [
            self._new(text) if number is None else number for text, number in zip(coded.values, known, strict=True)
        ]
        return np.array(numbers, dtype=np.int32)[coded.numbers] if numbers else np.empty(0, dtype=np.int32)

    def _new(self, text: str) -> int:
        """Return the number of a text that was not there before."""
        key = self._key(text)
        number = UNUSABLE if key is None else self._of_key.setdefault(key, len(self.names))
        if number == len(self.names):
            self.names.append(str(key) if self._named_by_key else " ".join(text.split()))
        self._of_text[text] = number
        return number


@dataclass(eq=False)
class RawLog:
    """The columns of a log as they are appended, batch by batch; positions and queries are not checked yet."""

    queries: Codes
    parts: list[dict[str, NDArray[Any]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.documents, self.sessions, self.rankers = Codes(), Codes(), Codes()

    def append(self, batch: Batch) -> None:
        """Append the rows of a batch."""
        columns: dict[str, NDArray[Any]] = {
            "query": self.queries.of(batch.query),
            "document": self.documents.of(batch.document),
            "position": np.clip(batch.position, MISSING, 2**31 - 1).astype(np.int32),
            "clicked": batch.clicked,
        }
        if batch.session is not None:
            columns["session"] = self.sessions.of(batch.session)
        if batch.time is not None:
            columns["time"] = batch.time
        if batch.ranker is not None:
            columns["ranker"] = self.rankers.of(batch.ranker)
        if batch.credit is not None:
            columns["credit"] = batch.credit
        self.parts.append(columns)

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the columns of the whole log, and forget the parts."""
        names = list(self.parts[0]) if self.parts else []
        joined = {name: np.concatenate([part.pop(name) for part in self.parts]) for name in names}
        self.parts = []
        return joined


def batch_of(path: Path, block: Block) -> Batch:
    """Return the values of a block; a value that is not as expected is an error with its line."""
    values: dict[str, list[Any]] = {}
    faults: list[tuple[int, LineFault]] = []
    for column, name in block.columns.items():
        keys = block.values[column]
        alike = set(map(type, keys)) in ({str}, {int}, {bool})
        if not alike:  # 1, 1.0 and True are equal: a key tells them apart
            keys = list(map(_key, keys))
        known: dict[Any, Any] = dict.fromkeys(keys)  # each value is read once
        for key in known:
            try:
                known[key] = _PARSE[column](key if alike else key[1], name)
            except LineFault as fault:
                faults.append((keys.index(key), fault))
                break
        values[column] = list(map(known.__getitem__, keys))
    if faults:
        row, first = min(faults, key=itemgetter(0))
        in_row = "" if block.what == "line" else f"row {block.places[row]}: "
        raise FileFormatError(path, block.places[row] if block.what == "line" else None, f"{in_row}{first}")
    texts = {name: _numbered(values[name]) for name in ("query", "document", "session", "ranker") if name in values}
    return Batch(
        position=np.array(values["position"], dtype=np.int64),
        clicked=np.array(values["clicked"], dtype=np.bool_),
        time=np.array(values["time"], dtype=np.float64) if "time" in values else None,
        credit=np.array(values["credit"], dtype=np.float64) if "credit" in values else None,
        **texts,
    )


def _key(value: Any) -> tuple[type, Any]:
    """Return a value and its type."""
    return value.__class__, value if value.__hash__ else repr(value)


def _numbered(texts: list[str]) -> Coded:
    numbers: dict[str, int] = {}
    of_row = np.array([numbers.setdefault(text, len(numbers)) for text in texts], dtype=np.int64)
    return Coded(list(numbers), of_row)


def _are_texts(values: list[str]) -> bool:
    joined = "".join(values)
    return all(map(str.strip, values)) and "\0" not in joined and (joined.isascii() or is_unicode(joined))


def _is_text(value: str) -> bool:
    return _are_texts([value])


def text_value(value: Any, name: str) -> str:
    """Return a value as text: text that is not blank, or a whole number."""
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if not (is_whole or (isinstance(value, str) and _is_text(value))):
        raise LineFault(f"expected text or a whole number as {name}, got {shown(value)}. Fill it in, or drop the line.")
    return str(value)


def document_value(value: Any, name: str) -> str:
    """Return the id of a document."""
    text = text_value(value, name)
    if first_broken([text]) is not None:
        raise LineFault(f"expected as {name} an id {ID_RULE}, got {shown(text)}. Rename it.")
    return text


def position_value(value: Any, name: str) -> int:
    """Return a position, MISSING where there is none (None or NaN)."""
    if value is None or value != value:
        return MISSING
    try:
        number = int(value) if isinstance(value, str) else value
    except ValueError:
        number = None
    if isinstance(number, float) and number.is_integer() and abs(number) < 2**31:
        number = int(number)
    if isinstance(number, bool) or not isinstance(number, int) or (isinstance(value, str) and "_" in value):
        raise LineFault(f"expected a whole number as {name}, got {shown(value)}. Count positions from 1.")
    return max(min(number, 2**31 - 1), MISSING)


def _clicked(value: Any, name: str) -> bool:
    clicked = {"0": False, "1": True, "false": False, "true": True}.get(str(value).lower())
    if clicked is None or isinstance(value, float):
        raise LineFault(f"expected 0, 1, true or false as {name}, got {shown(value)}. Write 1 for a click.")
    return clicked


def time_value(value: Any, name: str) -> float:
    """Return the seconds since 1970 of a number (seconds or milliseconds) or an ISO 8601 text; NaN for None or NaN."""
    if value is None:
        return math.nan
    if isinstance(value, datetime):
        return value.replace(tzinfo=value.tzinfo or UTC).timestamp()
    number = None
    if not isinstance(value, bool) and isinstance(value, int | float | str):
        try:
            number = float(value)
        except (ValueError, OverflowError):
            number = None
    if number is None and isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value.strip())
            number = moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()
        except (ValueError, OverflowError):
            number = None
    if number is None or math.isinf(number):
        raise LineFault(f"expected seconds since 1970 or an ISO 8601 time as {name}, got {shown(value)}. Correct it.")
    return number / 1000.0 if number >= MILLISECONDS else number


def credit_value(value: Any, name: str) -> float:
    """Return a finite number from 0."""
    try:
        number = float(value) if isinstance(value, int | float | str) else math.nan
    except (ValueError, OverflowError):
        number = math.nan
    if not 0.0 <= number < math.inf:
        raise LineFault(f"expected a number from 0 as {name}, got {shown(value)}. Write what a click counts.")
    return number


_PARSE: dict[str, Callable[[Any, str], Any]] = {
    "query": text_value,
    "document": document_value,
    "position": position_value,
    "clicked": _clicked,
    "session": text_value,
    "time": time_value,
    "ranker": text_value,
    "credit": credit_value,
}


def fits_an_id(query: str) -> bool:
    """Return whether a query is short enough for an array of ids."""
    return len(query) <= MOST_LETTERS
