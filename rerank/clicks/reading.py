"""Click logs: reading JSONL, columns between commas, tabs or semicolons (plain or gzip), Parquet, data frames and UBI,
and writing JSONL, CSV and TSV.

Every format yields columns of values; each distinct value is read once, by the function of its column, and texts
become numbers by first appearance. A row with a value that cannot be read, and an impression that cannot be used, is
dropped; each kind is counted in one line. Rows of lists that alternate are put list by list (`list_order`).

UBI is OpenSearch's User Behavior Insights (schemas 1.0 to 1.3). An event has action_name, query_id (one search),
event_attributes.object.object_id, event_attributes.position.ordinal, and session_id (also in event_attributes) or
client_id; `impression`, and `click` and `click_through`, are read. Other actions (by default add_to_cart, watch, view,
purchase) are no clicks on results: they are passed over and counted. A record of ubi_queries has query_id, user_query
and query_response_hit_ids (query_response_object_ids or query_response_objects_ids in early versions): it gives the
text of a search, and its impressions where no event does. Its query_attributes may say what ranked the hits: `ranker`,
or `rankers` with `sides` (the number of each hit's ranker) and `credits`, as `rerank serve` writes them. Lines of bulk
requests (`{"index": ...}`) are skipped, and hits (`{"_source": ...}`), also of a whole answer, are unwrapped.

https://docs.opensearch.org/docs/search-plugins/ubi/schemas
"""

from __future__ import annotations

import csv
import json
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.clicks.record import Clicks, list_order
from rerank.errors import FileFormatError, InvalidInputError, log, shown
from rerank.files.inputs import TopicsLike, topics_of
from rerank.files.parquet import PARQUET, opened_parquet
from rerank.files.source import (
    LineFault,
    check_file,
    checked_path,
    chunks,
    filled_lines,
    hits_of,
    json_object,
    json_objects,
    text,
    text_lines,
)
from rerank.runtime.fields import is_unicode
from rerank.runtime.json_text import check_nesting
from rerank.runtime.output import path_of, whole_file
from rerank.types.data_frames import Frame, frame_rows, is_frame, is_missing, plain_name, rows_as_frame
from rerank.types.ids import ID_RULE, MOST_LETTERS, first_broken, id_array

ROWS_AT_ONCE = 1 << 18
ROWS_WRITTEN = 1 << 16
SEPARATORS = {".csv": ",", ".tsv": "\t"}
TOPICS = "topics.tsv"  # in the folder of `rerank serve --log`
EVENTS = "events.jsonl"
IMPRESSION = "impression"
CLICKS = ("click", "click_through")
_HITS = ("query_response_object_ids", "query_response_objects_ids", "query_response_hit_ids")
MISSING = -(2**31)  # position of a row without one
LAST = 2**31 - 1
MILLISECONDS = 1e11  # a time from here on counts parts of seconds, which reach it in the year 5138
LIST = "list"  # what tells lists of a query and session apart; it is not kept
UNUSABLE = -1  # number of a query that cannot be an id
ALIASES: Mapping[str, tuple[str, ...]] = {
    "query": ("query", "user_query", "query_id", "qid"),
    "document": ("document", "doc_id", "docno", "doc", "object_id", "document_id", "item_id", "product_id", "url"),
    "position": ("position", "rank"),
    "clicked": ("clicked", "click", "is_click", "is_clicked"),
    "session": ("session", "session_id"),
    "time": ("time", "timestamp"),
    LIST: (LIST, "search_id", "request_id", "impression_id", "list_id", "user_id", "client_id", "user", "query_id"),
    "ranker": ("ranker",),
    "credit": ("credit",),
}
REQUIRED = ("query", "document", "position", "clicked")
Columns = dict[str, NDArray[Any]]
Values = Mapping[str, tuple[str, Sequence[Any]]]  # by column: its name in the file, and the value or None of each row
OddRows = list[tuple[FileFormatError, int]]  # rows that cannot be read: the error of the first, and their number
Part = Path | Frame  # a file of a log, or its rows in memory
Blocks = Iterator[tuple[Sequence[int], Values]]  # the number of the line (or row) of each row, and its values


@dataclass(frozen=True)
class LogLimits:
    """What a click log may hold; impressions beyond are dropped, and counted.

    Parameters
    ----------
    last_position : int
        Last position that is used.
    session_clicks : int
        Most clicks of a session; one with more is taken for a program, and all of its impressions are dropped.

    """

    last_position: int = 1000
    session_clicks: int = 1000


def read_clicks(
    path: str | Path | Frame | Sequence[str | Path | Frame],
    *,
    topics: TopicsLike | None = None,
    documents: Collection[str] | None = None,
    limits: LogLimits | None = None,
    same_text: bool = True,
) -> Clicks:
    """Read a log of impressions and clicks.

    A log is JSONL or CSV, also with tabs or semicolons (plain or gzip), or a file that ends in .parquet, with the
    columns query, document, position, clicked and optionally session, time, ranker, credit; JSONL of OpenSearch's User
    Behavior Insights (events and queries); or the folder of `rerank serve --log`. Rows that cannot be read, and
    impressions that cannot be used, are dropped, and a warning counts each kind of them.

    Parameters
    ----------
    path : str, Path, DataFrame or sequence of them
        The log, or its parts in order. A data frame, or a list of mappings, has the columns of a file.
    topics : Topics, mapping, DataFrame or path, optional
        Queries by id. The log's queries, ids or texts, become ids of topics: of topics with the same text, the first.
        A query that is none of them is dropped.
    documents : collection of str, optional
        The known documents; impressions of others are dropped.
    limits : LogLimits, optional
        Last position, and most clicks of a session.
    same_text : bool
        Whether queries that differ only in case, white space or compatible characters (NFKC) are one; it has the first
        form.

    Returns
    -------
    Clicks
        The impressions list by list, in the order of the log.

    Raises
    ------
    MissingFileError
        If there is no such file.
    FileFormatError
        For a log without the columns that are needed, or without an impression that can be used.

    """
    table = rows_as_frame(path)
    parts = [_part(part) for part in (table if isinstance(table, list | tuple) else [table])]
    if not parts:
        raise InvalidInputError("clicks: expected at least one file, got none. Name a log.")
    key = key_of_text if same_text else str
    raw = _RawLog(_by_text(key) if topics is None else _by_topic(topics_of(topics), key))
    odd: OddRows = []
    ubi = _UbiLog(odd)
    ubi_part = None
    for part in parts:
        if _is_ubi_file(part):
            ubi.read(part)
            ubi_part = part
        else:
            for places, values in _blocks(part, odd):
                raw.append(part, places, values, odd)
    notes: list[str] = []
    if ubi_part is not None:
        values, notes = ubi.values(_place(ubi_part))
        raw.append(ubi_part, range(len(values["query"][1])), values, odd)
    columns = raw.columns()
    if not (columns and len(columns["query"])) and odd:
        raise odd[0][0]
    if columns:
        known = [documents is None or name in documents for name in raw.codes["document"].names]
        columns, more = _cleaned(columns, np.array(known, dtype=np.bool_), limits or LogLimits())
        notes += more
    for note in [*_notes(odd), *notes]:
        log.warning("%s: %s", _place(parts[0]), note)
    if not columns or not len(columns["query"]):
        raise FileFormatError(
            _place(parts[0]), None, "expected impressions, got none that can be used. Name another log."
        )
    queries, docs = (id_array(raw.codes[name].names) for name in ("query", "document"))
    return Clicks(query_ids=queries, doc_ids=docs, **columns, rankers=tuple(raw.codes["ranker"].names))


def write_clicks(clicks: Clicks, path: str | Path) -> None:
    """Write a click log: CSV or TSV by the ending of the name, else JSONL; `.gz` compresses.

    Parameters
    ----------
    clicks : Clicks
        The impressions.
    path : str or Path
        The file; `-` is stdout.

    """
    ending = _ending(path_of(path))
    if ending == PARQUET:
        raise InvalidInputError(f"{path}: expected .jsonl, .csv or .tsv, got a Parquet file. Name another.")
    header = clicks.first_rows(0)[0]
    with whole_file(path) as file:
        table = csv.writer(file, delimiter=SEPARATORS.get(ending, ","), lineterminator="\n")
        if ending in SEPARATORS:
            table.writerow(header)
        for first in range(0, clicks.n_rows, ROWS_WRITTEN):
            part = clicks.select(np.arange(first, min(first + ROWS_WRITTEN, clicks.n_rows)))
            rows = [[None if value != value else value for value in row] for row in part.first_rows(ROWS_WRITTEN)[1]]
            if ending in SEPARATORS:
                table.writerows(rows)
            else:
                objects = (dict(zip(header, row, strict=True)) for row in rows)
                file.writelines(json.dumps(members, ensure_ascii=False) + "\n" for members in objects)


def key_of_text(text: str) -> str:
    """Return what texts have in common that differ only in case, white space or compatible characters."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _part(log: Any) -> Part:
    """Return a part of a log: a data frame, or a file that there is."""
    log = rows_as_frame(log)
    if is_frame(log):
        return log
    path = checked_path(log)
    return check_file(path / EVENTS if (path / TOPICS).is_file() else path, "a click log")


def _place(part: Part) -> Path:
    """Return the name of a part in messages."""
    return part if isinstance(part, Path) else Path("clicks")


def _ending(part: Part) -> str:
    """Return the ending of a name, in lower case, that says the format; empty without one."""
    return next((end for end in map(str.lower, reversed(_place(part).suffixes)) if end != ".gz"), "")


def _fault(part: Part, place: int, message: str) -> FileFormatError:
    """Return the error of a line, or of a row of Parquet or a data frame."""
    is_row = is_frame(part) or _ending(part) == PARQUET
    return FileFormatError(_place(part), None if is_row else place, f"row {place}: {message}" if is_row else message)


def _notes(odd: OddRows) -> list[str]:
    """Return what is to be told of rows that cannot be read."""
    count = sum(count for _, count in odd)
    return [f"{count:,} rows that cannot be read: dropped; the first: {odd[0][0]}"] if odd else []


def _blocks(part: Part, odd: OddRows) -> Blocks:
    """Yield the blocks of a log, whose format is that of its first line; Parquet is known by its ending."""
    columns: dict[str, str] = {}
    for places, table in _tables(part, odd):
        columns = columns or _names_of_columns(part, list(table))
        yield places, {column: (name, table[name]) for column, name in columns.items()}


def _names_of_columns(part: Part, names: list[str]) -> dict[str, str]:
    """Return the name in the file of each column that it has; refuse a log without one that is needed."""
    columns: dict[str, str] = {}
    of_plain = {plain_name(name): name for name in reversed(names)}
    for column, aliases in ALIASES.items():
        known = (of_plain.get(plain_name(name)) for name in aliases)
        name = next((name for name in known if name is not None and name not in columns.values()), None)
        if name is not None:
            columns[column] = name
        elif column in REQUIRED:
            raise FileFormatError(
                _place(part),
                None if is_frame(part) or _ending(part) == PARQUET else next(filled_lines(part))[0],
                f"expected a column {' or '.join(aliases)}, got {shown(', '.join(names))}. Write a row for each "
                "document shown, with columns query, document, position, clicked and optionally session, time, ranker, "
                "credit; of clicks alone (AOL, ORCAS), write qrels of `query 0 document 1`.",
            )
    return columns


def _tables(
    part: Part, odd: OddRows, at_once: int = ROWS_AT_ONCE
) -> Iterator[tuple[Sequence[int], dict[str, Sequence[Any]]]]:
    """Yield the numbers and the columns of some rows at a time."""
    if _ending(part) == PARQUET:
        with opened_parquet(part) as file:
            first = 0
            for batch in file.iter_batches(batch_size=at_once):
                yield range(first, first + batch.num_rows), batch.to_pydict()
                first += batch.num_rows
    elif not _is_json(part):
        yield from _csv_tables(part, odd, at_once)
    else:
        names: list[str] = []
        for rows in filter(None, _json_rows(part, odd)):
            names = names or list(rows[0][1])
            yield [line for line, _ in rows], {name: [members.get(name) for _, members in rows] for name in names}


def _json_rows(part: Part, odd: OddRows) -> Iterator[list[tuple[int, dict[str, Any]]]]:
    """Yield the number and the object of some lines at a time, without blank ones and those that are no objects.

    All lines of a part are parsed at once, and one by one only where one is no object. A file that holds an array, or
    objects over several lines, is read as a whole.
    """
    if is_frame(part):
        yield [
            (number, {name: None if is_missing(value) else value for name, value in row.items()})
            for number, row in enumerate(frame_rows(part))
        ]
        return
    if re.fullmatch(rb"\{\s*|\[.*", _first_line(part)):
        yield list(json_objects(part))
        return
    for first, chunk in chunks(part):
        lines = [(line, raw) for line, raw in enumerate(chunk.split(b"\n"), first) if raw.strip()]
        try:
            texts = [raw.decode() for _, raw in lines]
            for text in texts:
                check_nesting(text)
            objects = json.loads(f"[{','.join(texts)}]")
        except ValueError:
            objects = []
        are_whole = len(objects) == len(lines) and set(map(type, objects)) <= {dict}
        places = [line for line, _ in lines]
        rows = list(zip(places, objects, strict=True) if are_whole else _whole_objects(part, lines, odd))
        if rows and "hits" in rows[0][1]:
            rows = [(line, each) for line, members in rows for each in hits_of(members)]
        if rows:
            yield rows


def _first_line(path: Path) -> bytes:
    """Return the first line of a file that is not blank."""
    return next((chunk.lstrip().partition(b"\n")[0] for _, chunk in chunks(path)), b"")


def _whole_objects(path: Path, lines: list[tuple[int, bytes]], odd: OddRows) -> Iterator[tuple[int, dict[str, Any]]]:
    for line, raw in lines:
        try:
            yield line, json_object(text(raw))
        except LineFault as fault:  # also where a full disk or a killed process cut a line off
            odd.append((FileFormatError(path, line, str(fault)), 1))


def _is_json(part: Part) -> bool:
    """Return whether a log is no CSV, by its ending or by its first line: names have commas or the like, no braces."""
    if is_frame(part) or _ending(part) in SEPARATORS:
        return is_frame(part)
    first = _first_line(part)
    return bool(re.search(rb"[{}]|^\[", first)) or not re.search(rb"[,;\t|]", first)


def _csv_tables(path: Path, odd: OddRows, at_once: int) -> Iterator[tuple[Sequence[int], dict[str, Sequence[Any]]]]:
    filled = _csv_rows(path)
    names = next(filled, (1, 1, [""]))[2]
    while some := list(islice(filled, at_once)):
        rows = [(line, row) for line, _, row in some if len(row) == len(names)]
        if len(rows) < len(some):
            wrong = [(line, n_lines, row) for line, n_lines, row in some if len(row) != len(names)]
            message = (
                f"expected {len(names)} columns, as in the first line, got {len(wrong[0][2])}. Put a field with a "
                "separator into quotes."
            )
            odd.append((FileFormatError(path, wrong[0][0], message), sum(n_lines for _, n_lines, _ in wrong)))
        yield [line for line, _ in rows], {name: [row[n] or None for _, row in rows] for n, name in enumerate(names)}


def _csv_rows(path: Path) -> Iterator[tuple[int, int, list[str]]]:
    """Yield the last line, the number of lines and the fields of each row that is not blank.

    What separates the fields is the sign that the first line, of the names, has most of.
    """
    delimiter = max(",;\t|", key=next(filled_lines(path), (1, ""))[1].count)
    reader = csv.reader((f"{line}\n" for _, line in text_lines(path)), delimiter=delimiter, skipinitialspace=True)
    last = 0
    try:
        for row in reader:
            if "".join(row).strip() or len(row) > 1:
                yield reader.line_num, reader.line_num - last, row
            last = reader.line_num
    except csv.Error as fault:
        message = f"expected fields in quotes that end, got one that does not ({fault}). Close the quote."
        raise FileFormatError(path, last + 1, message) from None


Identity = tuple[str | None, str]  # what texts that are one have in common, None where they cannot be used; their name


def _by_text(key: Callable[[str], str]) -> Callable[[str], Identity]:
    """Return the function from a query to its key; one that is longer than an id has none."""
    return lambda query: (key(query) if len(query) <= MOST_LETTERS else None, " ".join(query.split()))


def _by_topic(topics: Mapping[str, str], key: Callable[[str], str]) -> Callable[[str], Identity]:
    """Return the function from a query, id or text, to the id of the first topic with its text."""
    ids: dict[str, str] = {}
    for query_id, words in topics.items():
        ids.setdefault(key(words), query_id)

    def identity(query: str) -> Identity:
        found = ids.get(key(topics.get(query, query)))
        return found, str(found)

    return identity


class _Codes:
    """Numbers of texts, by first appearance; texts with the same key are one, which has the name of the first."""

    def __init__(self, identity: Callable[[str], Identity] = lambda text: (text, text)) -> None:
        self.names: list[str] = []
        self._identity = identity
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        """Return the number of a text, UNUSABLE where it has no key."""
        key, name = self._identity(text)
        if key is None:
            return UNUSABLE
        number = self._numbers.setdefault(key, len(self.names))
        if number == len(self.names):
            self.names.append(name)
        return number


class _RawLog:
    """The columns of a log as they are appended, part by part; positions and queries are not checked yet."""

    def __init__(self, query_identity: Callable[[str], Identity]) -> None:
        self.codes = {name: _Codes() for name in ("document", "session", LIST, "ranker")}
        self.codes["query"] = _Codes(query_identity)
        self._parts: list[Columns] = []

    def append(self, source: Part, places: Sequence[int], values: Values, odd: OddRows) -> None:
        """Append rows of a file without those that have a value that is not as expected."""
        part: Columns = {}
        bad = np.zeros(len(places), dtype=np.bool_)
        first: tuple[int, LineFault] | None = None
        for column, (name, keys) in values.items():
            read, dtype = _READERS[column]
            number = self.codes[column].number if column in self.codes else None
            alike = set(map(type, keys)) in ({str}, {int}, {bool})
            if not alike:  # 1, 1.0 and True are equal: a key tells them apart
                # bytes, in place of lists and objects, are no value of any column
                keys = [(value.__class__, value if value.__hash__ else repr(value).encode()) for value in keys]
            known: dict[Any, Any] = dict.fromkeys(keys)  # a value that is repeated is read once
            wrong: set[Any] = set()
            for key in known:
                try:
                    value = read(key if alike else key[1], name)
                    known[key] = value if number is None else number(value)
                except LineFault as fault:
                    known[key] = 0
                    if not wrong:  # keys are in the order of their first rows
                        row = keys.index(key)
                        first = (row, fault) if first is None or row < first[0] else first
                    wrong.add(key)
            if wrong:
                bad |= np.fromiter((key in wrong for key in keys), np.bool_, len(keys))
            part[column] = np.array(list(map(known.__getitem__, keys)), dtype=dtype)
        if first is not None:
            odd.append((_fault(source, places[first[0]], str(first[1])), int(np.count_nonzero(bad))))
            part = {name: column[~bad] for name, column in part.items()}
        self._parts.append(part)

    def columns(self) -> Columns:
        """Return the columns that all parts have, and forget the parts."""
        names = [name for name in ALIASES if self._parts and all(name in part for part in self._parts)]
        return {name: np.concatenate([part.pop(name) for part in self._parts]) for name in names}


def _text(value: Any, name: str) -> str:
    """Return a value as text: text that is not blank, or a whole number."""
    is_text = isinstance(value, str) and value.strip() and "\0" not in value
    if not (is_text and (value.isascii() or is_unicode(value))) and type(value) is not int:
        raise LineFault(f"expected text or a whole number as {name}, got {shown(value)}. Fill it in, or drop the line.")
    return str(value)


def _document(value: Any, name: str) -> str:
    """Return the id of a document."""
    text = _text(value, name)
    if first_broken([text]) is not None:
        raise LineFault(f"expected as {name} an id {ID_RULE}, got {shown(text)}. Rename it.")
    return text


def _position(value: Any, name: str) -> int:
    """Return a position, MISSING where there is none (None or NaN)."""
    if value is None or value != value:
        return MISSING
    number = _float(value)
    if number is None or not number.is_integer():
        raise LineFault(f"expected a whole number as {name}, got {shown(value)}. Count positions from 1.")
    return int(max(min(number, LAST), MISSING))


def _clicked(value: Any, name: str) -> int:
    """Return the number of clicks."""
    number = _float({"false": 0, "true": 1}.get(str(value).lower(), value))
    if number is None or not (number >= 0 and number.is_integer()):
        raise LineFault(f"expected 0, 1, true or false as {name}, got {shown(value)}. Write 1 for a click, 0 for none.")
    return int(min(number, LAST))


def _float(value: Any) -> float | None:
    """Return a number, or the number in a text; None for another value."""
    is_number = isinstance(value, int | float | str) and not isinstance(value, bool)
    try:
        return float(value) if is_number and "_" not in str(value) else None
    except (ValueError, OverflowError):
        return None


def _time(value: Any, name: str) -> float:
    """Return the seconds since 1970 of a number or an ISO 8601 text; NaN for None or NaN.

    A number counts seconds, or by its size milliseconds, microseconds (Google Analytics) or nanoseconds (pandas).
    """
    if value is None:
        return math.nan
    number = _float(value)
    if number is None:
        try:
            text = str(value).strip().removesuffix(" UTC")  # which BigQuery writes
            moment = value if isinstance(value, datetime) else datetime.fromisoformat(text)
            number = moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()
        except (ValueError, OverflowError):
            number = math.inf
    if math.isinf(number):
        raise LineFault(f"expected seconds since 1970 or an ISO 8601 time as {name}, got {shown(value)}. Correct it.")
    while number >= MILLISECONDS:
        number /= 1000.0
    return number


def _credit(value: Any, name: str) -> float:
    """Return a finite number from 0."""
    number = _float(value)
    if number is None or not 0.0 <= number < math.inf:
        raise LineFault(f"expected a number from 0 as {name}, got {shown(value)}. Write what a click counts.")
    return number


_READERS: dict[str, tuple[Callable[[Any, str], Any], type]] = {  # of a value, and the type of its column
    "query": (_text, np.int32),
    "document": (_document, np.int32),
    "position": (_position, np.int32),
    "clicked": (_clicked, np.int32),
    "session": (_text, np.int32),
    "time": (_time, np.float64),
    LIST: (lambda value, name: str(value), np.int32),
    "ranker": (_text, np.int32),
    "credit": (_credit, np.float64),
}


def _cleaned(columns: Columns, is_known: NDArray[np.bool_], limits: LogLimits) -> tuple[Columns, list[str]]:
    """Return the impressions that can be used, and a line for each kind of those that cannot.

    is_known  (n_documents,) whether each document is among those of the index
    """
    notes: list[str] = []
    n_several = np.count_nonzero(columns["clicked"] > 1)
    if n_several:
        notes.append(f"{n_several:,} rows of several clicks: taken as one click, as a row is one impression.")
    columns["clicked"] = columns["clicked"] > 0
    n_first = [int(np.count_nonzero(columns["position"] == place)) for place in (0, 1)]
    if n_first[0] >= max(n_first[1], 1):  # equal where every list has two documents or more
        raise InvalidInputError(
            f"clicks: expected positions from 1, got positions from 0 ({n_first[0]:,} impressions at 0, {n_first[1]:,} "
            "at 1). Add 1 to each."
        )

    def drop(bad: NDArray[np.bool_], what: str) -> None:
        nonlocal columns
        if bad.any():
            notes.append(f"{np.count_nonzero(bad):,} {what}: dropped.")
            columns = {name: values[~bad] for name, values in columns.items()}

    missing = columns["position"] == MISSING
    n_clicks = np.count_nonzero(missing & columns["clicked"])
    drop(missing, f"rows without a position, {n_clicks:,} of them clicks without an impression")
    drop(columns["position"] < 1, "impressions at positions below 1")
    drop(columns["query"] == UNUSABLE, "impressions of queries that are too long, or not among the topics")
    columns = _in_lists(_merged(columns, notes), notes)
    drop(columns["position"] > limits.last_position, f"impressions at positions beyond {limits.last_position:,}")
    drop(~is_known[columns["document"]], "impressions of unknown documents")
    if "session" in columns:
        busy = np.bincount(columns["session"], columns["clicked"]) > limits.session_clicks
        what = f"impressions of {np.count_nonzero(busy):,} sessions with more than {limits.session_clicks:,} clicks"
        drop(busy[columns["session"]], what)
    if {"session", "time"} <= columns.keys():
        same = columns["session"][1:] == columns["session"][:-1]
        n_back = np.count_nonzero(same & (np.diff(columns["time"]) < 0.0))
        if n_back:
            notes.append(f"{n_back:,} times before that of the row above in the session: kept in the order of the log.")
    return columns, notes


def _in_lists(columns: Columns, notes: list[str]) -> Columns:
    """Return the columns list by list; add a note of lists that may be parts of others."""
    rows, n_unsure = list_order(columns)
    if n_unsure:
        notes.append(
            f"{n_unsure:,} lists that begin further down than others of their query and session: taken as they are; "
            "rows of lists that no column tells apart may be among them."
        )
    return {name: values[rows] for name, values in columns.items() if name != LIST}


def _merged(columns: Columns, notes: list[str]) -> Columns:
    """Return the columns with repeated impressions as one, clicked if one of them was; add a note of their number.

    Where the log has neither sessions nor times, equal rows are several searches.
    """
    keys = [columns[name] for name in ("position", "document", "query", "session", LIST) if name in columns]
    if "time" in columns:
        keys.insert(0, columns["time"].view(np.int64))
    if not {"session", "time"} & columns.keys():
        return columns
    order = np.lexsort(keys)
    starts = np.flatnonzero(np.logical_or.reduce([np.diff(key[order], prepend=~key[order][:1]) != 0 for key in keys]))
    n_merged = len(order) - len(starts)
    if not n_merged:
        return columns
    notes.append(f"{n_merged:,} repeated impressions (same session, query, document, position and time): merged.")
    clicked = columns["clicked"].copy()
    clicked[order[starts]] = np.logical_or.reduceat(clicked[order], starts)
    rows = np.sort(order[starts])
    return {name: values[rows] for name, values in (columns | {"clicked": clicked}).items()}


def _is_ubi_file(part: Part) -> bool:
    """Return whether the first object of a file is an event, a query, a hit or the head of a bulk request."""
    first = next(_objects(part, [], 1), (0, {}))[1]
    return _is_wrapped(first) or any(name in first for name in ("action_name", "query_attributes", *_HITS))


def _objects(part: Part, odd: OddRows, at_once: int = ROWS_AT_ONCE) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number and the object of each line or row; names with dots, `position.ordinal`, are those of parts."""
    if _ending(part) != PARQUET and _is_json(part):
        yield from ((line, _nested(members)) for line, members in chain.from_iterable(_json_rows(part, odd)))
        return
    for places, table in _tables(part, odd, at_once):
        for place, row in zip(places, zip(*table.values(), strict=True), strict=True):
            yield place, _nested(dict(zip(table, row, strict=True)))


def _nested(members: dict[str, Any]) -> dict[str, Any]:
    """Return an object whose names have no dots: what is before a dot is an object of its own."""
    if not any("." in name for name in members):
        return members
    nested: dict[str, Any] = {}
    for name, value in members.items():
        inside: Any = nested
        *outer, last = name.split(".")
        for part in outer:
            inside = inside.setdefault(part, {}) if isinstance(inside, dict) else None
        if isinstance(inside, dict) and value is not None:
            inside[last] = value
    return nested


def _is_wrapped(members: Mapping[str, Any]) -> bool:
    return any(isinstance(members.get(name), Mapping) for name in ("index", "create", "_source"))


@dataclass
class _Search:
    """What the events and the query of one search say.

    impressions  by document: position and time
    credits      by document: its ranker, and what a click counts for it
    """

    text: str
    session: str
    hits: list[str] = field(default_factory=list)
    time: float = math.nan
    impressions: dict[str, tuple[int, float]] = field(default_factory=dict)
    clicked: set[str] = field(default_factory=set)
    credits: dict[str, tuple[str, float]] = field(default_factory=dict)


class _UbiLog:
    """Events and queries of all files of a log, joined by the id of the search."""

    def __init__(self, odd: OddRows) -> None:
        self._searches: dict[str, _Search] = {}
        self._actions: Counter[str] = Counter()  # of the events that are passed over
        self._odd = odd

    def read(self, part: Part) -> None:
        """Add the events and queries of a file or frame; those that cannot be read are counted."""
        for line, members in _objects(part, self._odd):
            source = members.get("_source", members)
            if isinstance(source, Mapping) and not (source is members and _is_wrapped(members)):
                try:
                    self._add(source)
                except LineFault as fault:
                    self._odd.append((_fault(part, line, str(fault)), 1))

    def _add(self, members: Mapping[str, Any]) -> None:
        action = members.get("action_name")
        is_read = action in (IMPRESSION, *CLICKS)
        if action is not None and not is_read:
            self._actions[str(action)] += 1
        if not is_read and "user_query" not in members:
            return
        name = _text(members.get("query_id"), "query_id")
        search = self._searches.setdefault(name, _Search(name, f"search {name}"))
        if members.get("user_query"):
            search.text = _text(members["user_query"], "user_query")
        attributes = _object(members.get("event_attributes"), "event_attributes")
        session = members.get("session_id") or attributes.get("session_id") or members.get("client_id")
        if session:
            search.session = _text(session, "session_id")
        name, hits = next(((name, members[name]) for name in _HITS if isinstance(members.get(name), list)), ("", None))
        if hits is not None:
            search.time = _time(members.get("timestamp"), "timestamp")
            hits = [_document(doc, name) for doc in hits]
            search.hits = list(dict.fromkeys([*search.hits, *hits]))  # a further page is a record with the same id
            _add_rankers(search, hits, _object(members.get("query_attributes"), "query_attributes"))
        if is_read:
            _add_event(search, str(action), members.get("timestamp"), attributes)

    def values(self, path: Path) -> tuple[Values, list[str]]:
        """Return the columns of the impressions, list by list, and what is to be told of them."""
        searches = list(self._searches.values())
        from_0 = any(place == 0 for search in searches for place, _ in search.impressions.values())
        for search in searches:
            if not search.impressions:
                for position, doc in enumerate(search.hits, 1 - from_0):
                    search.impressions.setdefault(doc, (position, search.time))
        passed = ", ".join(f"{shown(action)[1:-1]} ({count:,})" for action, count in self._actions.most_common())
        if not any(search.impressions for search in searches):
            got = ", but ".join(["none", *filter(None, [passed]), *_notes(self._odd)]).removesuffix(".")
            raise FileFormatError(
                path,
                None,
                f"expected impression events or queries with query_response_hit_ids, got {got}. Log what was shown, "
                "too.",
            )
        notes = ["ordinals count from 0: 1 was added to each."] if from_0 else []
        lost = sum(len(search.clicked - search.impressions.keys()) for search in searches)
        if lost:
            notes.append(f"{lost:,} clicks without an impression of the document: dropped.")
        if passed:
            notes.append(f"events of other actions: {passed}: passed over.")
        rows = [
            (
                search.text,
                doc,
                place if place == MISSING else place + from_0,
                doc in search.clicked,
                search.session,
                time,
                name,
                *search.credits.get(doc, ("unknown", 0.0)),
            )
            for name, search in self._searches.items()
            for place, doc, time in sorted((place, doc, time) for doc, (place, time) in search.impressions.items())
        ]
        has_credits = any(search.credits for search in searches)
        names = list(ALIASES) if has_credits else list(ALIASES)[:-2]
        return {name: (name, column) for name, column in zip(names, zip(*rows, strict=True), strict=False)}, notes


def _add_rankers(search: _Search, hits: Sequence[str], attributes: Mapping[str, Any]) -> None:
    """Add what ranked hits of a search, where it is told."""
    columns = [attributes.get(name) for name in ("rankers", "sides", "credits")]
    if "ranker" in attributes:
        columns = [[attributes["ranker"]], [0] * len(hits), [0.0] * len(hits)]
    elif columns == [None, None, None]:
        return
    rankers, sides, credits = (column if isinstance(column, list) else [] for column in columns)
    if not len(hits) == len(sides) == len(credits) or any(side not in range(len(rankers)) for side in sides):
        raise LineFault(
            "expected as query_attributes rankers, and of each hit the number of its ranker in sides, and credits, "
            "got others. Write one for each hit."
        )
    for doc, side, credit in zip(hits, sides, credits, strict=True):
        ranker = _text(rankers[side], "query_attributes.rankers")
        search.credits[doc] = ranker, _credit(credit, "query_attributes.credits")


def _add_event(search: _Search, action: str, time: Any, attributes: Mapping[str, Any]) -> None:
    document = _object(attributes.get("object"), "event_attributes.object")
    doc = _document(document.get("object_id"), "event_attributes.object.object_id")
    if action in CLICKS:
        search.clicked.add(doc)
        return
    place = _object(attributes.get("position"), "event_attributes.position").get("ordinal", attributes.get("rank"))
    place = place.get("index") if isinstance(place, Mapping) else place  # schemas up to 1.2
    ordinal = _position(place, "event_attributes.position.ordinal")
    search.impressions.setdefault(doc, (ordinal, _time(time, "timestamp")))


def _object(value: Any, name: str) -> Mapping[str, Any]:
    """Return an object of an event, an empty one where it is missing."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise LineFault(f"expected an object as {name}, got another value. Write events of UBI's schema.")
    return value
