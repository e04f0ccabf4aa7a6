"""Blocks of rows of a click log: JSONL, CSV and TSV (plain or gzip), and Parquet.

A block is read as a whole by pyarrow where it is installed and can; otherwise, and where a value is not as expected,
row by row, which accepts the same values and names the first wrong line.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
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
Rows = Iterator[tuple[int, Mapping[str, Any]]]


@dataclass(frozen=True, eq=False)
class Block:
    """Rows of a log.

    table    a pyarrow table with the columns that are read; None where pyarrow is missing or does not read the block
    rows     yields the number of the line (or row) and the values of each row, by the names of the columns in the file
    columns  name of each column in the file
    what     "line" or "row"
    """

    table: Any
    rows: Callable[[], Rows]
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
    schema: Any = None
    for first, chunk in chunks(path, CHUNK_BYTES):

        def rows(first: int = first, chunk: bytes = chunk) -> Rows:
            for line, raw in enumerate(chunk.split(b"\n"), first):
                if raw.strip():
                    yield line, of_line(path, line, json_object, of_line(path, line, text, raw))

        if not columns:
            line, members = next(rows(), (first, None))
            if members is None:
                continue
            columns = columns_of(path, line, list(members))
            schema = _json_schema(columns, members)
        yield Block(_json_table(chunk, schema), rows, columns)


def _json_schema(columns: Mapping[str, str], members: Mapping[str, Any]) -> Any:
    """Return pyarrow's schema of the columns, with the types of the first object; None without pyarrow."""
    try:
        import pyarrow as arrow
    except ImportError:
        return None
    kinds = {int: arrow.int64(), float: arrow.float64(), bool: arrow.bool_()}
    fixed = {"position": arrow.int64(), "credit": arrow.float64()}
    return arrow.schema(
        [
            (name, fixed.get(column) or kinds.get(type(members.get(name)), arrow.string()))
            for column, name in columns.items()
        ]
    )


def _json_table(chunk: bytes, schema: Any) -> Any:
    if schema is None:
        return None
    import pyarrow as arrow
    from pyarrow import json

    options = json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    try:
        return json.read_json(io.BytesIO(chunk), parse_options=options)
    except arrow.ArrowException:
        return None


def _csv_blocks(path: Path, delimiter: str) -> Iterator[Block]:
    parts = chunks(path, CHUNK_BYTES)
    first, beginning = next(parts, (1, b""))
    head, _, rest = beginning.partition(b"\n")
    names = next(csv.reader([of_line(path, first, text, head.rstrip(b"\r"))], delimiter=delimiter), [])
    columns = columns_of(path, first, names) if beginning else {}
    for line, chunk in chain([(first + 1, rest)], parts):

        def rows(line: int = line, chunk: bytes = chunk) -> Rows:
            for number, raw in enumerate(chunk.split(b"\n"), line):
                if raw.strip():
                    yield number, _csv_row(path, number, names, raw, delimiter)

        if chunk:
            yield Block(_csv_table(chunk, names, columns, delimiter), rows, columns)


def _csv_row(path: Path, line: int, names: list[str], raw: bytes, delimiter: str) -> dict[str, Any]:
    values = next(csv.reader([of_line(path, line, text, raw.rstrip(b"\r"))], delimiter=delimiter))
    if len(values) != len(names):
        raise FileFormatError(
            path,
            line,
            f"expected {len(names)} columns, as in the first line, got {len(values)}. Put a field with a separator "
            "into quotes.",
        )
    return {name: value if value else None for name, value in zip(names, values, strict=True)}


def _csv_table(chunk: bytes, names: list[str], columns: Mapping[str, str], delimiter: str) -> Any:
    try:
        import pyarrow as arrow
        from pyarrow import csv as arrow_csv
    except ImportError:
        return None
    coded = arrow.dictionary(arrow.int32(), arrow.string())
    types = {"position": arrow.int64(), "clicked": arrow.bool_(), "time": arrow.string(), "credit": arrow.float64()}
    try:
        return arrow_csv.read_csv(
            io.BytesIO(chunk),
            read_options=arrow_csv.ReadOptions(column_names=names),
            parse_options=arrow_csv.ParseOptions(delimiter=delimiter),
            convert_options=arrow_csv.ConvertOptions(
                column_types={name: types.get(column, coded) for column, name in columns.items()},
                include_columns=list(columns.values()),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=True,
            ),
        )
    except arrow.ArrowException:
        return None


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
                table = arrow.Table.from_batches([batch])

                def rows(first: int = first, table: Any = table) -> Rows:
                    return enumerate(table.to_pylist(), first)

                yield Block(table, rows, columns, "row")
                first += batch.num_rows
    except (arrow.ArrowException, OSError) as fault:
        if isinstance(fault, FileNotFoundError | FileFormatError):
            raise
        raise FileFormatError(
            path, None, "expected a Parquet file, got something else or a damaged file. Write or fetch it anew."
        ) from fault
