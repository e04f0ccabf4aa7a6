"""Reading and writing of click logs.

Blocks of rows of a click log: JSONL, CSV and TSV (plain or gzip), and Parquet.

A value is read by one function, in whatever format it comes (`batches.py`).

Columns of a click log as numbers: from a block of rows, checked, to the arrays of the whole log.

Impressions that cannot be used, and what is done with them: each kind is counted and told of in one line.

Events of OpenSearch's User Behavior Insights (UBI, schema 1.0) as impressions.

An event has action_name, query_id (one search), event_attributes.object.object_id, event_attributes.position.ordinal,
and session_id or client_id; `impression` and `click` are read, other actions are passed over. A record of ubi_queries
has query_id, user_query and query_response_hit_ids: it gives the text of a search, and its impressions where no event
does. Its query_attributes may say what ranked the hits: `ranker`, or `rankers` with `sides` (the number of each hit's
ranker) and `credits`, as `rerank serve` writes them. Lines of bulk requests (`{"index": ...}`) are skipped, and hits
(`{"_source": ...}`) are unwrapped.

https://docs.opensearch.org/docs/search-plugins/ubi/schemas
"""

from __future__ import annotations

import csv
import json
import logging
import math
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rerank.clicks.record import Clicks, Numbers
from rerank.errors import FileFormatError, InvalidInputError, shown
from rerank.files.lists import TopicsLike, topics_of
from rerank.files.source import LineFault, check_file, checked_path, chunks, json_object, of_line, text
from rerank.runtime.codec import is_unicode
from rerank.runtime.output import whole_file
from rerank.types import Floats, Ints
from rerank.types.ids import ID_RULE, MOST_LETTERS, ODD, first_broken, id_array

CHUNK_BYTES = 1 << 25
ROWS_AT_ONCE = 1 << 18
CSV = ".csv"
TSV = ".tsv"
PARQUET = ".parquet"
ALIASES: Mapping[str, tuple[str, ...]] = {
    "query": ("query", "query_id", "qid", "user_query"),
    "document": ("document", "doc_id", "docno", "doc", "object_id"),
    "position": ("position", "rank"),
    "clicked": ("clicked", "click"),
    "session": ("session", "session_id"),
    "time": ("time", "timestamp"),
    "ranker": ("ranker",),
    "credit": ("credit",),
}
REQUIRED = ("query", "document", "position", "clicked")


@dataclass(frozen=True, eq=False)
class Block:
    """Rows of a log.

    values   of each row, by column; None where there is none
    places   number of the line (or row) of each row
    columns  name of each column in the file
    what     "line" or "row"
    """

    values: Mapping[str, Sequence[Any]]
    places: Sequence[int]
    columns: Mapping[str, str]
    what: str = "line"


def log_blocks(path: Path) -> Iterator[Block]:
    """Yield the blocks of a log, whose format is that of the ending of its name; other endings are JSONL."""
    endings = [ending.lower() for ending in path.suffixes if ending.lower() != ".gz"]
    ending = endings[-1] if endings else ""
    if ending == PARQUET:
        return _parquet_blocks(path)
    if ending in (CSV, TSV):
        return _csv_blocks(path, "\t" if ending == TSV else ",")
    return _json_blocks(path)


def columns_of(path: Path, line: int | None, names: list[str]) -> dict[str, str]:
    """Return the name in the file of each column that it has; refuse a log without one that is needed."""
    columns = {}
    for column, aliases in ALIASES.items():
        present = [name for name in aliases if name in names]
        if present:
            columns[column] = present[0]
        elif column in REQUIRED:
            raise FileFormatError(
                path,
                line,
                f"expected a column {' or '.join(aliases)}, got {shown(names)}. Name the columns query, document, "
                "position, clicked and optionally session, time, ranker, credit.",
            )
    return columns


def _json_blocks(path: Path) -> Iterator[Block]:
    columns: dict[str, str] = {}
    for first, chunk in chunks(path, CHUNK_BYTES):
        lines = [(line, raw) for line, raw in enumerate(_texts(path, first, chunk), first) if raw.strip()]
        objects = _objects(path, lines)
        if objects:
            columns = columns or columns_of(path, lines[0][0], list(objects[0]))
            values = {column: [members.get(name) for members in objects] for column, name in columns.items()}
            yield Block(values, [line for line, _ in lines], columns)


def _objects(path: Path, lines: Sequence[tuple[int, str]]) -> list[dict[str, Any]]:
    """Return the object of each line; all lines are parsed at once, and one by one only to say which is none."""
    try:
        objects = json.loads(f"[{','.join(raw for _, raw in lines)}]")
    except (ValueError, RecursionError):
        objects = []
    if len(objects) == len(lines) and set(map(type, objects)) <= {dict}:
        return list(objects)
    return [of_line(path, line, json_object, raw) for line, raw in lines]


def _csv_blocks(path: Path, delimiter: str) -> Iterator[Block]:
    names: list[str] = []
    for first, chunk in chunks(path, CHUNK_BYTES):
        reader = csv.reader(_texts(path, first, chunk), delimiter=delimiter)
        rows = [(first + reader.line_num - 1, row) for row in reader if "".join(row).strip() or len(row) > 1]
        if not names and rows:
            names = rows.pop(0)[1]
        columns = columns_of(path, first, names)
        wrong = next(((line, row) for line, row in rows if len(row) != len(names)), None)
        if wrong is not None:
            raise FileFormatError(
                path,
                wrong[0],
                f"expected {len(names)} columns, as in the first line, got {len(wrong[1])}. Put a field with a "
                "separator into quotes.",
            )
        numbers = {column: names.index(name) for column, name in columns.items()}
        values = {column: [row[number] or None for _, row in rows] for column, number in numbers.items()}
        yield Block(values, [line for line, _ in rows], columns)


def _texts(path: Path, first: int, chunk: bytes) -> list[str]:
    """Return the lines of a chunk as text; the fault of a byte that is none is that of its line."""
    lines = chunk.split(b"\n")
    if chunk.isascii() and b"\0" not in chunk:
        return [raw.removesuffix(b"\r").decode() for raw in lines]
    return [of_line(path, line, text, raw.removesuffix(b"\r")) for line, raw in enumerate(lines, first)]


def _parquet_blocks(path: Path) -> Iterator[Block]:
    try:
        import pyarrow as arrow
        from pyarrow import parquet
    except ImportError as error:
        raise InvalidInputError(
            f"{path}: expected pyarrow installed, which reads Parquet, got none. Run "
            "`pip install lucene-rerank[parquet]`."
        ) from error
    try:
        with parquet.ParquetFile(path) as file:
            columns = columns_of(path, None, list(file.schema_arrow.names))
            first = 0
            for batch in file.iter_batches(batch_size=ROWS_AT_ONCE, columns=list(columns.values())):
                read = batch.to_pydict()
                values = {column: read[name] for column, name in columns.items()}
                yield Block(values, range(first, first + batch.num_rows), columns, "row")
                first += batch.num_rows
    except (arrow.ArrowException, OSError) as fault:
        if isinstance(fault, FileNotFoundError | FileFormatError):
            raise
        raise FileFormatError(
            path, None, "expected a Parquet file, got something else or a damaged file. Write or fetch it anew."
        ) from fault


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
        self._key = key
        self._named_by_key = named_by_key
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
        self.documents = Codes()
        self.sessions = Codes()
        self.rankers = Codes()

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


Columns = dict[str, NDArray[Any]]
Mask = NDArray[np.bool_]
UNKNOWN = -2  # number of a document that is not among those of the index


@dataclass(frozen=True)
class Limits:
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


def cleaned(columns: Columns, limits: Limits) -> tuple[Columns, list[str]]:
    """Return the impressions that can be used, and a line for each kind of those that cannot."""
    notes: list[str] = []
    n_first = [int(np.count_nonzero(columns["position"] == place)) for place in (0, 1)]
    if n_first[0] > n_first[1]:
        raise InvalidInputError(
            f"clicks: expected positions from 1, got positions from 0 ({n_first[0]:,} impressions at 0, {n_first[1]:,} "
            "at 1). Add 1 to each."
        )
    for find in (_unplaced, _before_first, _too_deep, _unusable_queries, _unknown_documents, _of_programs):
        bad, what = find(columns, limits)
        count = int(np.count_nonzero(bad))
        if count:
            columns = {name: values[~bad] for name, values in columns.items()}
            notes.append(f"{count:,} {what}: dropped.")
    columns, n_repeated = _merged(columns)
    if n_repeated:
        notes.append(f"{n_repeated:,} repeated impressions (same session, query, document, position and time): merged.")
    n_back = _running_back(columns)
    if n_back:
        notes.append(f"{n_back:,} times before that of the row above in the session: kept in the order of the log.")
    return columns, notes


Found = tuple[Mask, str]


def _unplaced(columns: Columns, limits: Limits) -> Found:
    missing = columns["position"] == MISSING
    clicks = int(np.count_nonzero(missing & columns["clicked"]))
    return missing, f"rows without a position, {clicks:,} of them clicks without an impression"


def _before_first(columns: Columns, limits: Limits) -> Found:
    return columns["position"] < 1, "impressions at positions below 1"


def _too_deep(columns: Columns, limits: Limits) -> Found:
    return columns["position"] > limits.last_position, f"impressions at positions beyond {limits.last_position:,}"


def _unusable_queries(columns: Columns, limits: Limits) -> Found:
    return columns["query"] == UNUSABLE, "impressions of queries that are too long, or not among the topics"


def _unknown_documents(columns: Columns, limits: Limits) -> Found:
    return columns["document"] == UNKNOWN, "impressions of unknown documents"


def _of_programs(columns: Columns, limits: Limits) -> Found:
    if "session" not in columns or not len(columns["session"]):
        return np.zeros(len(columns["query"]), dtype=np.bool_), ""
    counts = np.bincount(columns["session"], columns["clicked"])
    busy = counts > limits.session_clicks
    what = f"impressions of {np.count_nonzero(busy):,} sessions with more than {limits.session_clicks:,} clicks"
    return busy[columns["session"]], what


def _merged(columns: Columns) -> tuple[Columns, int]:
    """Return the columns with repeated impressions as one, clicked if one of them was, and how many were dropped.

    Where the log has neither sessions nor times, equal rows are several searches.
    """
    keys = [columns[name] for name in ("session", "query", "document", "position") if name in columns]
    if "time" in columns:
        keys.append(columns["time"].view(np.int64))
    if not {"session", "time"} & columns.keys():
        return columns, 0
    candidates = _equal_hashes(keys)
    if not len(candidates):
        return columns, 0
    chosen = [key[candidates] for key in keys]
    order = np.lexsort((candidates, *chosen))
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = np.logical_or.reduce([key[order][1:] != key[order][:-1] for key in chosen])
    group = np.cumsum(new) - 1
    rows = candidates[order]
    clicked = columns["clicked"].copy()
    clicked[rows[new]] = np.bincount(group, clicked[rows]) > 0
    keep = np.ones(len(clicked), dtype=np.bool_)
    keep[rows[~new]] = False
    merged = {name: values[keep] for name, values in (columns | {"clicked": clicked}).items()}
    return merged, int(np.count_nonzero(~new))


def _equal_hashes(keys: list[NDArray[Any]]) -> NDArray[np.int64]:
    """Return the rows whose keys may be those of another row, ascending."""
    codes = np.zeros(len(keys[0]), dtype=np.uint64)
    for key in keys:
        codes ^= codes >> np.uint64(29)
        codes *= ODD
        codes += key.astype(np.int64).view(np.uint64)
    codes *= ODD
    ordered = np.sort(codes)
    repeated = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
    if not len(repeated):
        return np.empty(0, dtype=np.int64)
    place = np.minimum(np.searchsorted(repeated, codes), len(repeated) - 1)
    return np.flatnonzero(repeated[place] == codes)


def _running_back(columns: Columns) -> int:
    if not {"session", "time"} <= columns.keys():
        return 0
    same = columns["session"][1:] == columns["session"][:-1]
    return int(np.count_nonzero(same & (np.diff(columns["time"]) < 0.0)))


IMPRESSION = "impression"
CLICK = "click"


def log_objects(path: Path) -> Iterator[tuple[int, dict[str, Any] | None]]:
    """Yield the number and the object of each line that is not blank, None for one that is no whole object."""
    for first, chunk in chunks(path):
        for line, raw in enumerate(chunk.split(b"\n"), first):
            if raw.strip():
                try:
                    yield line, json_object(text(raw))
                except LineFault:
                    yield line, None


def is_ubi(members: Mapping[str, Any]) -> bool:
    """Return whether the first object of a file is an event, a query, a hit or the head of a bulk request."""
    return "action_name" in members or "query_response_hit_ids" in members or _is_wrapped(members)


def _is_wrapped(members: Mapping[str, Any]) -> bool:
    heads = [members.get(name) for name in ("index", "create", "_source")]
    return any(isinstance(head, Mapping) for head in heads)


class UbiLog:
    """Events and queries of all files of a log, joined by the id of the search."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._texts: dict[int, str] = {}
        self._sessions: dict[int, str] = {}
        self._hits: dict[int, list[str]] = {}
        self._impressions: dict[tuple[int, str], tuple[int, float]] = {}
        self._clicks: set[tuple[int, str]] = set()
        self._times: dict[int, float] = {}  # of the searches
        self._credits: dict[tuple[int, str], tuple[str, float]] = {}  # ranker, and what a click counts for it
        self._torn: list[str] = []  # places of lines that a full disk or a killed process cut off

    def read(self, path: Path) -> None:
        """Add the events and queries of a file; lines that are no whole objects are counted."""
        for line, members in log_objects(path):
            if members is None:
                self._torn.append(f"{path}:{line}")
                continue
            source = members.get("_source", members)
            if isinstance(source, Mapping) and not (source is members and _is_wrapped(members)):
                of_line(path, line, self._add, source)

    def _add(self, members: Mapping[str, Any]) -> None:
        action = members.get("action_name")
        if action not in (IMPRESSION, CLICK) and "user_query" not in members:
            return
        search = self._numbers.setdefault(text_value(members.get("query_id"), "query_id"), len(self._numbers))
        if members.get("user_query"):
            self._texts[search] = text_value(members["user_query"], "user_query")
        session = members.get("session_id") or members.get("client_id")
        if session:
            self._sessions[search] = text_value(session, "session_id")
        hits = members.get("query_response_hit_ids")
        if isinstance(hits, list):
            self._hits[search] = [document_value(doc, "query_response_hit_ids") for doc in hits]
            self._times[search] = time_value(members.get("timestamp"), "timestamp")
            self._add_rankers(search, _object(members.get("query_attributes"), "query_attributes"))
        if action in (IMPRESSION, CLICK):
            self._add_event(search, str(action), members)

    def _add_rankers(self, search: int, attributes: Mapping[str, Any]) -> None:
        """Add what ranked the hits of a search, where it is told."""
        hits = self._hits[search]
        given = attributes.get("rankers"), attributes.get("sides"), attributes.get("credits")
        if "ranker" in attributes:
            given = [attributes["ranker"]], [0] * len(hits), [0.0] * len(hits)
        elif given == (None, None, None):
            return
        rankers, sides, credits = (each if isinstance(each, list) else [] for each in given)
        if not len(hits) == len(sides) == len(credits) or any(side not in range(len(rankers)) for side in sides):
            raise LineFault(
                "expected as query_attributes rankers, and of each hit the number of its ranker in sides, and credits, "
                "got others. Write one for each hit."
            )
        for doc, side, credit in zip(hits, sides, credits, strict=True):
            ranker = text_value(rankers[side], "query_attributes.rankers")
            self._credits[search, doc] = ranker, credit_value(credit, "query_attributes.credits")

    def _add_event(self, search: int, action: str, members: Mapping[str, Any]) -> None:
        attributes = _object(members.get("event_attributes"), "event_attributes")
        shown = _object(attributes.get("object"), "event_attributes.object")
        doc = document_value(shown.get("object_id"), "event_attributes.object.object_id")
        if action == CLICK:
            self._clicks.add((search, doc))
            return
        place = _object(attributes.get("position"), "event_attributes.position").get("ordinal", attributes.get("rank"))
        ordinal = position_value(place, "event_attributes.position.ordinal")
        self._impressions.setdefault((search, doc), (ordinal, time_value(members.get("timestamp"), "timestamp")))

    def batch(self, path: Path) -> tuple[Batch, list[str]]:
        """Return the impressions, list by list, and what is to be told of them."""
        shown = {search for search, _ in self._impressions}
        for search, docs in self._hits.items():
            if search not in shown:
                for position, doc in enumerate(docs, 1):
                    self._impressions.setdefault((search, doc), (position, self._times[search]))
        if not self._impressions:
            raise FileFormatError(
                path,
                None,
                "expected impression events or queries with query_response_hit_ids, got none. Log what was shown, too.",
            )
        from_0 = any(ordinal == 0 for ordinal, _ in self._impressions.values())
        notes = ["ordinals count from 0: 1 was added to each."] if from_0 else []
        lost = len(self._clicks - self._impressions.keys())
        if lost:
            notes.append(f"{lost:,} clicks without an impression of the document: dropped.")
        if self._torn:
            notes.append(
                f"{len(self._torn):,} lines that are no whole JSON objects, the first {self._torn[0]}: dropped."
            )
        places = {key: place + from_0 if place != MISSING else place for key, (place, _) in self._impressions.items()}
        rows = sorted((key[0], places[key], key[1], time) for key, (_, time) in self._impressions.items())
        return self._rows(rows), notes

    def _rows(self, rows: list[tuple[int, int, str, float]]) -> Batch:
        names = list(self._numbers)
        searches, places, docs, times = zip(*rows, strict=True)
        of_search, numbers = np.unique(np.array(searches), return_inverse=True)
        documents: dict[str, int] = {}
        of_doc = np.array([documents.setdefault(doc, len(documents)) for doc in docs])
        queries = [self._texts.get(search, names[search]) for search in of_search.tolist()]
        sessions = [self._sessions.get(search, f"search {names[search]}") for search in of_search.tolist()]
        credited = [self._credits.get((search, doc), ("unknown", 0.0)) for search, _, doc, _ in rows]
        names_of_rankers = list(dict.fromkeys(ranker for ranker, _ in credited))
        numbers_of_rankers = {ranker: number for number, ranker in enumerate(names_of_rankers)}
        ranker = np.array([numbers_of_rankers[ranker] for ranker, _ in credited])
        return Batch(
            query=Coded(queries, numbers.reshape(-1)),
            document=Coded(list(documents), of_doc),
            position=np.array(places, dtype=np.int64),
            clicked=np.array([(search, doc) in self._clicks for search, _, doc, _ in rows], dtype=np.bool_),
            session=Coded(sessions, numbers.reshape(-1)),
            time=np.array(times, dtype=np.float64),
            ranker=Coded(names_of_rankers, ranker) if self._credits else None,
            credit=np.array([credit for _, credit in credited]) if self._credits else None,
        )


def _object(value: Any, name: str) -> Mapping[str, Any]:
    """Return an object of an event, an empty one where it is missing."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise LineFault(f"expected an object as {name}, got another value. Write events of UBI's schema.")
    return value


log = logging.getLogger("rerank")
ROWS_WRITTEN = 1 << 16
TOPICS, EVENTS = "topics.tsv", "events.jsonl"  # in the folder of `rerank serve --log`


def read_clicks(
    path: str | Path | Sequence[str | Path],
    *,
    topics: TopicsLike | None = None,
    documents: Collection[str] | None = None,
    limits: Limits | None = None,
    same_text: bool = True,
) -> Clicks:
    """Read a log of impressions and clicks.

    A log is JSONL, CSV or TSV (plain or gzip), or Parquet, by the ending of its name, with the columns query, document,
    position, clicked and optionally session, time, ranker, credit; JSONL of OpenSearch's User Behavior Insights (events
    and queries); or the folder of `rerank serve --log`. Impressions that cannot be used are dropped, and a warning
    counts each kind of them.

    Parameters
    ----------
    path : str, Path or sequence of them
        The log, or its parts in order.
    topics : Topics, mapping, DataFrame or path, optional
        Queries by id. The log's queries, ids or texts, become ids of topics: of topics with the same text, the first.
        A query that is none of them is dropped.
    documents : collection of str, optional
        The known documents; impressions of others are dropped.
    limits : Limits, optional
        Last position, and most clicks of a session.
    same_text : bool
        Whether queries that differ only in case, white space or compatible characters (NFKC) are one; it has the first
        form.

    Returns
    -------
    Clicks
        The impressions in the order of the log.

    Raises
    ------
    MissingFileError
        If there is no such file.
    FileFormatError
        With the line, for a value that is not as expected; for a log without an impression that can be used.

    """
    paths = [checked_path(one) for one in (path if isinstance(path, list | tuple) else [path])]
    if not paths:
        raise InvalidInputError("clicks: expected at least one file, got none. Name a log.")
    paths = [each / EVENTS if each.is_dir() and (each / TOPICS).is_file() else each for each in paths]
    for each in paths:
        check_file(each, "a click log")
    key = key_of_text if same_text else str
    names = None if topics is None else topics_of(topics)
    raw = RawLog(Codes(_limited(key)) if names is None else Codes(_topic_of(names, key), named_by_key=True))
    notes = _append_all(raw, paths)
    columns = raw.columns()
    if documents is not None and columns:
        known = np.array([name in documents for name in raw.documents.names], dtype=np.bool_)
        columns["document"] = np.where(known[columns["document"]], columns["document"], UNKNOWN).astype(np.int32)
    if columns:
        columns, more = cleaned(columns, limits or Limits())
        notes += more
    for note in notes:
        log.warning("%s: %s", paths[0], note)
    if not columns or not len(columns["query"]):
        raise FileFormatError(paths[0], None, "expected impressions, got none that can be used. Name another log.")
    queries = id_array(raw.queries.names)
    docs = id_array(raw.documents.names)
    return Clicks(query_ids=queries, doc_ids=docs, **columns, rankers=tuple(raw.rankers.names))


def _append_all(raw: RawLog, paths: Iterable[Path]) -> list[str]:
    """Append all files to a log; return what is to be told of them."""
    ubi = UbiLog()
    ubi_path = None
    notes: list[str] = []
    for path in paths:
        if _is_ubi_file(path):
            ubi.read(path)
            ubi_path = path
            continue
        for block in log_blocks(path):
            raw.append(batch_of(path, block))
    if ubi_path is not None:
        batch, notes = ubi.batch(ubi_path)
        raw.append(batch)
    shared = set.intersection(*(set(part) for part in raw.parts)) if raw.parts else set()
    raw.parts = [{name: part[name] for name in part if name in shared} for part in raw.parts]
    return notes


def _is_ubi_file(path: Path) -> bool:
    endings = {ending.lower() for ending in path.suffixes}
    if endings & {CSV, TSV, PARQUET}:
        return False
    whole = (members for _, members in log_objects(path) if members is not None)
    return any(is_ubi(members) for members in islice(whole, 1))


def key_of_text(text: str) -> str:
    """Return what texts have in common that differ only in case, white space or compatible characters."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _limited(key: Callable[[str], str]) -> Callable[[str], str | None]:
    return lambda text: key(text) if fits_an_id(text) else None


def _topic_of(topics: Mapping[str, str], key: Callable[[str], str]) -> Callable[[str], str | None]:
    """Return the function from a query, id or text, to the id of the first topic with its text, None without one."""
    ids: dict[str, str] = {}
    for query_id, words in topics.items():
        ids.setdefault(key(words), query_id)
    return lambda query: ids.get(key(topics.get(query, query)))


def write_clicks(clicks: Clicks, path: str | Path) -> None:
    """Write a click log: CSV or TSV by the ending of the name, else JSONL; `.gz` compresses.

    Parameters
    ----------
    clicks : Clicks
        The impressions.
    path : str or Path
        The file; `-` is stdout.

    """
    endings = [ending.lower() for ending in Path(path).suffixes if ending.lower() != ".gz"]
    ending = endings[-1] if endings else ""
    if ending == PARQUET:
        raise InvalidInputError(f"{path}: expected .jsonl, .csv or .tsv, got a Parquet file. Name another.")
    with whole_file(path) as file:
        header, _, _ = clicks.first_rows(0)
        if ending in (CSV, TSV):
            writer = csv.writer(file, delimiter="\t" if ending == TSV else ",", lineterminator="\n")
            writer.writerow(header)
            for rows in _row_blocks(clicks):
                writer.writerows([[None if value != value else value for value in row] for row in rows])
            return
        for rows in _row_blocks(clicks):
            file.writelines(json.dumps(_json_object(header, row), ensure_ascii=False) + "\n" for row in rows)


def _json_object(header: list[str], row: list[Any]) -> dict[str, Any]:
    return {name: None if value != value else value for name, value in zip(header, row, strict=True)}


def _row_blocks(clicks: Clicks) -> Iterable[list[list[Any]]]:
    for first in range(0, clicks.n_rows, ROWS_WRITTEN):
        part = clicks.select(np.arange(first, min(first + ROWS_WRITTEN, clicks.n_rows)))
        yield part.first_rows(ROWS_WRITTEN)[1]
