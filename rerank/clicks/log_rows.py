"""The rows of a click log: JSONL, columns between commas, tabs or semicolons (plain or gzip), Parquet, data frames.

row   the values of a line, or of a row of Parquet or a data frame, by the names that the log has for them
odd   a row that cannot be read; it is left out and counted

Lines of bulk requests of Elasticsearch and OpenSearch are rows. Hits, alone or in a search response, are unwrapped. A
name with a dot, `position.ordinal`, is a key of a nested object.
"""

import csv
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rerank.errors import FileFormatError
from rerank.files.json_lines import hits_of, json_object, json_objects
from rerank.files.parquet import PARQUET, opened_parquet
from rerank.files.source import LineFault, chunks, filled_lines, text, text_lines
from rerank.runtime.json_text import check_nesting
from rerank.types.data_frames import Frame, frame_rows, is_frame

SEPARATORS = {".csv": ",", ".tsv": "\t"}
LogPart = Path | Frame  # a file of a log, or its rows in memory
LogRows = Iterator[tuple[int, dict[str, Any]]]  # the number of the line (or row) of each row, and its values


@dataclass
class OddRows:
    """Rows that cannot be read: the error of the first row, and the number of rows."""

    first: FileFormatError | None = None
    count: int = 0

    def add(self, error: FileFormatError, count: int = 1) -> None:
        """Count rows; `error` is that of the first of them. Within a part, the error of the first line is kept."""
        if self.first is None or (self.first.path == error.path and (error.line or 0) < (self.first.line or 0)):
            self.first = error
        self.count += count

    def notes(self) -> list[str]:
        """Return the message about the rows; an empty list without rows."""
        return [f"{self.count:,} rows that cannot be read: dropped; the first: {self.first}"] if self.count else []


def place_of(part: LogPart) -> Path:
    """Return the name of a part in messages."""
    return part if isinstance(part, Path) else Path("clicks")


def ending_of(part: LogPart) -> str:
    """Return the ending that names the format, in lower case and without .gz; "" if there is none."""
    return next((end for end in map(str.lower, reversed(place_of(part).suffixes)) if end != ".gz"), "")


def has_lines(part: LogPart) -> bool:
    """Return whether the rows of a part are in lines, which have numbers from 1."""
    return not is_frame(part) and ending_of(part) != PARQUET


def row_fault(part: LogPart, place: int, message: str) -> FileFormatError:
    """Return the error of a line (from 1), or of a row of Parquet or a data frame (from 0)."""
    is_line = has_lines(part)
    return FileFormatError(
        place_of(part), place if is_line else None, message if is_line else f"row {place}: {message}"
    )


def rows_of(part: LogPart, odd: OddRows) -> LogRows:
    """Return the rows of a part; the format is detected by the ending (Parquet, CSV, TSV) or by the first line."""
    if is_frame(part):
        return enumerate(frame_rows(part))
    if ending_of(part) == PARQUET:
        return _parquet_rows(part)
    first = next((chunk.lstrip().partition(b"\n")[0] for _, chunk in chunks(part)), b"")
    if ending_of(part) in SEPARATORS or (not re.search(rb"[{}]|^\[", first) and re.search(rb"[,;\t|]", first)):
        return _csv_rows(part, odd)
    return json_objects(part) if re.fullmatch(rb"\{\s*|\[.*", first) else _json_rows(part, odd)


def nested_row(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with nested objects in place of names with dots: {"a.b": 1} becomes {"a": {"b": 1}}."""
    if not any("." in name for name in row):
        return row
    whole: dict[str, Any] = {}
    for name, value in row.items():
        inside: Any = whole
        *outer, last = name.split(".")
        for part in outer:
            inside = inside.setdefault(part, {}) if isinstance(inside, dict) else None
        if isinstance(inside, dict) and value is not None:
            inside[last] = value
    return whole


def _parquet_rows(path: Path) -> LogRows:
    with opened_parquet(path) as file:
        yield from enumerate(row for batch in file.iter_batches() for row in batch.to_pylist())


def _json_rows(path: Path, odd: OddRows) -> LogRows:
    """Yield the object of each line; a line that is no object, e.g. one that a killed process cut off, is odd."""
    for first, chunk in chunks(path):
        for line, raw in enumerate(chunk.split(b"\n"), first):
            if raw.strip():
                try:
                    members = _object(raw)
                except LineFault as fault:
                    odd.add(FileFormatError(path, line, str(fault)))
                else:
                    yield from ((line, each) for each in (hits_of(members) if "hits" in members else [members]))


def _object(raw: bytes) -> dict[str, Any]:
    """Return the object of a line; unlike in JSON, NaN is a number."""
    try:
        content = raw.decode()
        check_nesting(content)
        members = json.loads(content)
    except ValueError:
        members = None
    return members if isinstance(members, dict) else json_object(text(raw))


def _csv_rows(path: Path, odd: OddRows) -> LogRows:
    """Yield each row with its last line; the separator is the one of , ; tab | most frequent in the line of names."""
    delimiter = max(",;\t|", key=next(filled_lines(path), (1, ""))[1].count)
    reader = csv.reader((f"{line}\n" for _, line in text_lines(path)), delimiter=delimiter, skipinitialspace=True)
    names: list[str] = []
    last = 0
    try:
        for row in reader:
            n_lines = reader.line_num - last
            last = reader.line_num
            if not "".join(row).strip() and len(row) <= 1:
                continue
            if not names:
                names = row
            elif len(row) == len(names):
                yield last, {name: value or None for name, value in zip(names, row, strict=True)}
            else:
                message = (
                    f"expected {len(names)} columns, as in the first line, got {len(row)}. Put a field with a "
                    "separator into quotes."
                )
                odd.add(FileFormatError(path, last, message), n_lines)
    except csv.Error as fault:
        raise FileFormatError(
            path, last + 1, f"expected fields in quotes that end, got one that does not ({fault}). Close the quote."
        ) from None
