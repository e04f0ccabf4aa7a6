"""The columns of a click log: their names in files, how values are read, and how the parts of a log are collected.

Each distinct value of up to ROWS_AT_ONCE rows is read once, and texts are numbered by first appearance. Rows with a
value that cannot be read are left out and counted.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rerank.clicks.log_rows import LogPart, LogRows, OddRows, has_lines, place_of, row_fault
from rerank.errors import FileFormatError, shown
from rerank.files.source import LineFault, filled_lines, value_of
from rerank.runtime.fields import is_unicode
from rerank.types.data_frames import is_missing, plain_name
from rerank.types.ids import ID, ID_RULE, MOST_LETTERS

MISSING = -(2**31)  # position of a row without one
LAST = 2**31 - 1
MILLISECONDS = 1e11  # from here on, a time is in units smaller than seconds: 1e11 seconds are the year 5138
LIST = "list"  # column that tells apart several lists of one query and session; it is not kept
SUMS = ("impressions", "nimpressions", "impressioncount", "numimpressions")  # columns of a log of sums, as `plain_name`
_ROWS = (
    "Write a row for each document shown, with columns query, document, position, clicked and optionally session, "
    "time, ranker, credit; of clicks alone (AOL, ORCAS), write qrels of `query 0 document 1`; of sums, a row for each "
    "impression, or without positions qrels with e.g. round(100 * clicks / impressions) as label."
)


class LogColumn(NamedTuple):
    """A column of a log.

    names     names that the column may have in a log, the preferred one first
    read      takes a value and the name of its column; returns the value to store, or raises LineFault
    dtype     of the stored values; texts are stored as their numbers
    required  whether a log must have the column
    """

    names: tuple[str, ...]
    read: Callable[[Any, str], Any]
    dtype: type = np.int32
    required: bool = False


def names_of_columns(part: LogPart, names: Sequence[str]) -> dict[str, str]:
    """Return the name in the log of each column that the log has.

    Refuse a log that lacks a required column, or that has sums in place of a row for each impression.
    """
    found: dict[str, str] = {}
    of_plain = {plain_name(name): name for name in reversed(names)}
    for column, declared in COLUMNS.items():
        known = (of_plain.get(plain_name(name)) for name in declared.names)
        name = next((name for name in known if name is not None and name not in found.values()), None)
        if name is not None:
            found[column] = name
    missing = [declared.names for column, declared in COLUMNS.items() if declared.required and column not in found]
    sums = [of_plain[name] for name in SUMS if name in of_plain]
    if missing or sums:
        expected = f"a column {' or '.join(missing[0])}" if missing else "a row for each impression"
        got = ", ".join(names) if missing else sums[0]
        line = next(filled_lines(part))[0] if has_lines(part) else None
        raise FileFormatError(place_of(part), line, f"expected {expected}, got {shown(got)}. {_ROWS}")
    return found


def text_value(value: Any, name: str) -> str:
    """Return text that is not blank, or a whole number as text; refuse other values."""
    is_text = isinstance(value, str) and value.strip() and "\0" not in value
    if not (is_text and (value.isascii() or is_unicode(value))) and type(value) is not int:
        raise LineFault(
            f"expected text or a whole number as {name}, got {shown(value)}. Fill it in, drop the line, or, if a "
            "frame turned whole numbers into floats, pass frame.convert_dtypes()."
        )
    return str(value)


def read_document(value: Any, name: str) -> str:
    """Return the id of a document."""
    text = text_value(value, name)
    if ID.fullmatch(text) is None:
        raise LineFault(f"expected as {name} an id {ID_RULE}, got {shown(text)}. Rename it.")
    return text


def read_position(value: Any, name: str) -> int:
    """Return a position, MISSING where there is none."""
    if is_missing(value):
        return MISSING
    return value_of(_whole, value, f"a whole number as {name}", "Count positions from 1")


def _clicked(value: Any, name: str) -> int:
    """Return the number of clicks."""
    number = _whole({"false": 0, "true": 1}.get(str(value).lower(), value))
    if number is None or number < 0:
        also = ", also where there is no value (frame.fillna)" if is_missing(value) else ""
        raise LineFault(
            f"expected 0, 1, true or false as {name}, got {shown(value)}. Write 1 for a click, 0 for none{also}."
        )
    return number


def _whole(value: Any) -> int | None:
    """Return a whole number, clipped to int32; None if the value is no whole number."""
    number = _number(value)
    return int(max(min(number, LAST), MISSING)) if number is not None and number.is_integer() else None


def _number(value: Any) -> float | None:
    """Return a number, or the number that a text holds, as float; None for other values."""
    is_number = isinstance(value, int | float | str) and not isinstance(value, bool)
    try:
        return float(value) if is_number and "_" not in str(value) else None
    except (ValueError, OverflowError):
        return None


def read_time(value: Any, name: str) -> float:
    """Return the seconds since 1970 of a number or an ISO 8601 text; NaN for None or NaN.

    A number is in seconds, milliseconds, microseconds (Google Analytics) or nanoseconds (pandas), as its size tells.
    """
    if value is None:
        return math.nan
    number = _number(value)
    if number is None:
        try:
            text = str(value).strip().removesuffix(" UTC")  # BigQuery writes it
            moment = value if isinstance(value, datetime) else datetime.fromisoformat(text)
            number = moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()
        except (ValueError, OverflowError):
            number = math.inf
    if math.isinf(number):
        raise LineFault(f"expected seconds since 1970 or an ISO 8601 time as {name}, got {shown(value)}. Correct it.")
    while number >= MILLISECONDS:
        number /= 1000.0
    return number


def read_credit(value: Any, name: str) -> float:
    """Return a finite number of at least 0; refuse other values."""
    number = _number(value)
    if number is None or not 0.0 <= number < math.inf:
        raise LineFault(
            f"expected a number from 0 as {name}, got {shown(value)}. Write what a click counts for the ranker."
        )
    return number


def _list_name(value: Any, name: str) -> str:
    """Return any value as text."""
    return str(value)


COLUMNS = {
    "query": LogColumn(("query", "user_query", "query_id", "qid"), text_value, required=True),
    "document": LogColumn(
        ("document", "doc_id", "docno", "doc", "object_id", "document_id", "item_id", "product_id", "url"),
        read_document,
        required=True,
    ),
    "position": LogColumn(("position", "rank"), read_position, required=True),
    "clicked": LogColumn(("clicked", "click", "is_click", "is_clicked"), _clicked, required=True),
    "session": LogColumn(("session", "session_id"), text_value),
    "time": LogColumn(("time", "timestamp"), read_time, np.float64),
    LIST: LogColumn(
        (LIST, "search_id", "request_id", "impression_id", "list_id", "user_id", "client_id", "user", "query_id"),
        _list_name,
    ),
    "ranker": LogColumn(("ranker",), text_value),
    "credit": LogColumn(("credit",), read_credit, np.float64),
}


ROWS_AT_ONCE = 1 << 16
UNUSABLE = -1  # number of a text without a key
LogColumns = dict[str, NDArray[Any]]
Identity = tuple[str | None, str]  # key, which equal texts share (None for a text that cannot be used), and name


def by_text(key: Callable[[str], str]) -> Callable[[str], Identity]:
    """Return the function from a query's text to its Identity; a text that is longer than an id may be has no key."""
    return lambda query: (key(query) if len(query) <= MOST_LETTERS else None, " ".join(query.split()))


def by_topic(topics: Mapping[str, str], key: Callable[[str], str]) -> Callable[[str], Identity]:
    """Return the function from a query (id or text) to its Identity: the id of the first topic with this text."""
    ids: dict[str, str] = {}
    for query_id, words in topics.items():
        ids.setdefault(key(words), query_id)

    def identity(query: str) -> Identity:
        found = ids.get(key(topics.get(query, query)))
        return found, str(found)

    return identity


class _Codes:
    """Numbers of texts, by first appearance. Texts with one key share a number, and the name of the first of them."""

    def __init__(self, identity: Callable[[str], Identity] = lambda text: (text, text)) -> None:
        self.names: list[str] = []
        self._identity = identity
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        """Return the number of a text; UNUSABLE if it has no key."""
        key, name = self._identity(text)
        if key is None:
            return UNUSABLE
        number = self._numbers.setdefault(key, len(self.names))
        if number == len(self.names):
            self.names.append(name)
        return number


class RawLog:
    """The columns of a log as they are appended, part by part; positions and queries are not checked yet."""

    def __init__(self, query_identity: Callable[[str], Identity]) -> None:
        self.codes = {name: _Codes() for name in ("document", "session", "list", "ranker")}
        self.codes["query"] = _Codes(query_identity)
        self._parts: list[LogColumns] = []

    def read(self, part: LogPart, rows: LogRows, odd: OddRows) -> None:
        """Append the rows of a part; those with a value that cannot be read are left out and added to `odd`."""
        names: dict[str, str] = {}
        while some := list(islice(rows, ROWS_AT_ONCE)):
            names = names or names_of_columns(part, list(dict.fromkeys(chain.from_iterable(row for _, row in some))))
            columns: LogColumns = {}
            faults: dict[int, LineFault] = {}  # first fault of each row that has one
            for column, name in names.items():
                columns[column], wrong = self._values(column, name, [row.get(name) for _, row in some])
                faults = wrong | faults
            if faults:
                first = min(faults)
                odd.add(row_fault(part, some[first][0], str(faults[first])), len(faults))
                columns = {name: np.delete(values, list(faults)) for name, values in columns.items()}
            self._parts.append(columns)

    def _values(self, column: str, name: str, cells: Sequence[Any]) -> tuple[NDArray[Any], dict[int, LineFault]]:
        """Return the values of a column, (n_cells,), and the faults of the cells that cannot be read, by row."""
        read, dtype = COLUMNS[column].read, COLUMNS[column].dtype
        number = self.codes[column].number if column in self.codes else lambda value: value
        alike = set(map(type, cells)) in ({str}, {int}, {bool})
        # 1, 1.0 and True are equal, so the type is part of the key. Values without a hash (lists, objects) become
        # bytes, which all columns but `list` refuse.
        typed = ((type(value), value if value.__hash__ else repr(value).encode()) for value in cells)
        keys = cells if alike else list(typed)
        known: dict[Any, Any] = {}
        faults: dict[Any, LineFault] = {}
        for key in dict.fromkeys(keys):
            try:
                known[key] = number(read(key if alike else key[1], name))
            except LineFault as fault:
                known[key] = 0
                faults[key] = fault
        wrong = {row: faults[key] for row, key in enumerate(keys if faults else ()) if key in faults}
        return np.array(list(map(known.__getitem__, keys)), dtype=dtype), wrong

    def columns(self) -> LogColumns:
        """Return the columns that all parts have, and take them out of the parts to free memory."""
        names = [name for name in COLUMNS if self._parts and all(name in part for part in self._parts)]
        return {name: np.concatenate([part.pop(name) for part in self._parts]) for name in names}
