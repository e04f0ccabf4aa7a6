"""Blocks of rows of a click log: JSONL, CSV and TSV (plain or gzip), and Parquet.

A value is read by one function, in whatever format it comes (`batches.py`).
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rerank.errors import FileFormatError, InvalidInputError, shown
from rerank.files.source import chunks, json_object, of_line, text

CHUNK_BYTES = 1 << 25
ROWS_AT_ONCE = 1 << 18
CSV, TSV, PARQUET = ".csv", ".tsv", ".parquet"
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
