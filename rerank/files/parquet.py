"""Ranking data as Parquet: a row for each query-document pair, as data warehouses write them. Needs pyarrow.

    query_id    text or whole numbers (also named qid)
    doc_id      text or whole numbers (also named docno, doc)
    label       number, optional (also named relevance)
    base_score  number, optional
    weight      number, optional; of the query where its rows have the same, else of each row
    others      features by name: numbers or booleans; null and NaN are missing values

- Rows of a query need not be adjacent; queries are ordered by their first row.
- `write_parquet` adds the schema metadata `rerank`, JSON with version, features and, where the data have them, ideal
  labels (by query), recipe, fingerprint, retriever and run_retrievers, so that everything but queries without rows can
  be read again. Recipe and fingerprint are only those of the same features in the same order.
- A file is read and written in parts, never whole: row groups have whole queries of about 2^16 rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import FileFormatError, InvalidInputError, shown
from rerank.files.rows import (
    NOT_STORED,
    STORED,
    RowTable,
    faults_of,
    ideal_arrays,
    of_queries,
    query_ptr,
    refuse_repeats,
    stored_members,
)
from rerank.files.source import check_file
from rerank.runtime.mapped_rows import row_blocks
from rerank.runtime.output import whole_file
from rerank.runtime.schema import Array, Names, Record, SchemaError, Table, Whole, first_repeated
from rerank.runtime.strict_json import ParseFault, parse_json
from rerank.types import Floats, RankingData
from rerank.types.frames import (
    ALIASES,
    BASE_SCORE,
    DOC_ID,
    LABEL,
    NOT_FEATURES,
    QUERY_ID,
    WEIGHT,
    given_weights,
    weights_of_rows,
)
from rerank.types.ids import MOST_LETTERS

ENDING = ".parquet"
METADATA = b"rerank"
VERSION = 1
ROWS_OF_GROUP = 1 << 16
ROWS_AT_ONCE = 1 << 14
NUMBERS = (LABEL, BASE_SCORE, WEIGHT)
_REMEDY = "Write the file anew."
_RULE = f"of 1 to {MOST_LETTERS} characters without NUL"
_MEMBERS = Record(
    {
        "version": Whole(VERSION, VERSION),
        "features": Names(),
        "ideal_labels": Table(Array(np.float64)),
        **STORED,
    },
    {"features": (), "ideal_labels": None, **NOT_STORED},
)


@dataclass(frozen=True)
class _Columns:
    """Names of the columns in a file: those of this package -> its own, and the features."""

    named: Mapping[str, str]
    features: tuple[str, ...]


def read_parquet(path: str | Path, mapped: bool = False) -> RankingData:
    """Read ranking data from Parquet."""
    path = check_file(path, "a Parquet file")
    with _opened(path) as file, _arrow_faults(path):
        columns = _columns(path, file.schema_arrow)
        members = _members(path, file.schema_arrow.metadata or {})
        table = RowTable.new(mapped, f"the features of {path}")
        for first, batch in _batches(file):
            _append(path, first, batch, columns, table)
    with faults_of(path):
        data = _record(path, table, columns, members)
        data.check_values()
    return data


def parquet_shape(path: str | Path) -> tuple[int, int]:
    """Return the numbers of rows and features, from the footer of the file; raises as `read_parquet` does."""
    path = check_file(path, "a Parquet file")
    with _opened(path) as file, _arrow_faults(path):
        return file.metadata.num_rows, len(_columns(path, file.schema_arrow).features)


def write_parquet(data: RankingData, path: str | Path, blocks: Iterable[NDArray[np.float32]] | None = None) -> None:
    """Write ranking data as Parquet. Queries without rows are not written.

    Shapes: blocks float32 (n_rows_of_block, n_features).
    """
    arrow, parquet = _pyarrow(path)
    reserved = set(NOT_FEATURES).union(*(ALIASES[name] for name in (QUERY_ID, DOC_ID, LABEL)))
    clash = next((name for name in data.feature_names if name in reserved), None)
    if clash is not None:
        raise InvalidInputError(
            f"data: expected features with other names than the columns {', '.join(NOT_FEATURES)} and their aliases, "
            f"got {clash!r}. Rename the feature."
        )
    for ids in (data.query_ids, data.doc_ids):
        broken = next((name for name in ids.tolist() if not _is_id(name)), None)
        if broken is not None:
            raise InvalidInputError(f"data: expected ids {_RULE}, got {shown(broken)}. Rename it.")
    given = {LABEL: data.labels, BASE_SCORE: data.base_scores, WEIGHT: weights_of_rows(data)}
    fields = [(QUERY_ID, arrow.string()), (DOC_ID, arrow.string())]
    fields += [(name, arrow.float64()) for name, values in given.items() if values is not None]
    fields += [(name, arrow.float32()) for name in data.feature_names]
    schema = arrow.schema(fields, metadata={METADATA: _metadata(data).encode()})
    with whole_file(path, binary=True) as handle, parquet.ParquetWriter(handle, schema) as writer:
        for first, X in _groups(data, blocks):
            writer.write_table(arrow.table(_group_columns(data, first, X), schema=schema), row_group_size=len(X))


def _groups(data: RankingData, blocks: Iterable[NDArray[np.float32]] | None) -> Iterator[tuple[int, Any]]:
    """Yield the first row and the features of each row group: whole queries, whatever the blocks."""
    parts = (block for _, block in row_blocks(data.X)) if blocks is None else iter(blocks)
    waiting: list[NDArray[np.float32]] = []
    first = 0
    n_waiting = 0
    while first < data.n_rows:
        last_query = int(np.searchsorted(data.query_ptr, first + ROWS_OF_GROUP, side="left"))
        last = int(data.query_ptr[min(last_query, len(data))])
        while n_waiting < last - first:
            block = next(parts)
            waiting.append(block)
            n_waiting += len(block)
        rows = np.concatenate(waiting) if len(waiting) > 1 else waiting[0]
        yield first, rows[: last - first]
        waiting = [rows[last - first :]]
        n_waiting = n_waiting - (last - first)
        first = last


def _group_columns(data: RankingData, first: int, X: NDArray[np.float32]) -> dict[str, Any]:
    rows = slice(first, first + len(X))
    query = np.searchsorted(data.query_ptr, np.arange(first, first + len(X)), side="right") - 1
    given = {LABEL: data.labels, BASE_SCORE: data.base_scores, WEIGHT: weights_of_rows(data)}
    return {
        QUERY_ID: data.query_ids[query].tolist(),
        DOC_ID: data.doc_ids[rows].tolist(),
        **{name: values[rows] for name, values in given.items() if values is not None},
        **{name: np.ascontiguousarray(X[:, column]) for column, name in enumerate(data.feature_names)},
    }


def _metadata(data: RankingData) -> str:
    members: dict[str, Any] = {"version": VERSION}
    if data.n_features:
        members["features"] = list(data.feature_names)
    if data.ideal_labels is not None and data.ideal_ptr is not None:
        labels = data.ideal_labels.tolist()
        ptr = data.ideal_ptr.tolist()
        sizes = np.diff(data.query_ptr)
        members["ideal_labels"] = {name: labels[ptr[q] : ptr[q + 1]] for q, name in enumerate(data) if sizes[q]}
    return json.dumps({**members, **stored_members(data)}, ensure_ascii=False, allow_nan=False)


def _pyarrow(path: str | Path) -> tuple[Any, Any]:
    """Return the modules pyarrow and pyarrow.parquet."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise InvalidInputError(
            f"{path}: expected pyarrow installed, which reads and writes Parquet, got none. Run "
            "`pip install lucene-rerank[parquet]`."
        ) from error
    return pyarrow, pyarrow.parquet


def _opened(path: Path) -> Any:
    """Return the opened file, a context manager."""
    _, parquet = _pyarrow(path)
    with _arrow_faults(path):
        return parquet.ParquetFile(path)


@contextmanager
def _arrow_faults(path: Path) -> Iterator[None]:
    """Turn pyarrow's errors into errors of the file."""
    arrow, _ = _pyarrow(path)
    try:
        yield
    # OSError: damaged pages and files that cannot be read; UnicodeDecodeError: text that is not UTF-8
    except (arrow.ArrowException, OSError, UnicodeDecodeError, MemoryError, OverflowError) as fault:
        raise FileFormatError(
            path, None, "expected a Parquet file, got something else or a damaged file. Write or fetch it anew."
        ) from fault


def _columns(path: Path, schema: Any) -> _Columns:
    """Return what the columns are; refuse missing ones, and types that are not read."""
    from pyarrow import types

    names = list(schema.names)
    repeated = first_repeated(names)
    if repeated is not None:
        raise FileFormatError(path, None, f"expected each column once, got {shown(names[repeated])} again. Drop one.")
    named: dict[str, str] = {}
    for column in (QUERY_ID, DOC_ID, *NUMBERS):
        aliases = ALIASES.get(column, (column,))
        present = [name for name in aliases if name in names]
        if len(present) > 1:
            raise FileFormatError(
                path, None, f"expected one column of {' or '.join(present)}, got both. Drop one of them."
            )
        if present:
            named[column] = present[0]
        elif column in (QUERY_ID, DOC_ID):
            have = shown(names)
            raise FileFormatError(
                path, None, f"expected a column {' or '.join(aliases)}, got {have}. Rename the column."
            )
    features = tuple(name for name in names if name not in named.values())
    for name in names:
        is_id = name in (named[QUERY_ID], named[DOC_ID])
        kind = schema.field(name).type
        of_values = kind.value_type if types.is_dictionary(kind) else kind
        is_text = types.is_string(of_values) or types.is_large_string(of_values)
        is_number = types.is_floating(kind) or types.is_boolean(kind) or types.is_null(kind)
        if not (types.is_integer(kind) or (is_text if is_id else is_number)):
            what = "text or whole numbers" if is_id else "numbers"
            raise FileFormatError(
                path, None, f"expected {what} in column {shown(name)}, got {kind}. Convert the column, or drop it."
            )
        if not name:
            raise FileFormatError(path, None, "expected columns with names, got one without. Rename it.")
    return _Columns(named, features)


def _members(path: Path, metadata: Mapping[bytes, bytes]) -> dict[str, Any]:
    """Return what the schema metadata hold beside the rows."""
    if METADATA not in metadata:
        return dict(_MEMBERS.optional or {})
    try:
        return _MEMBERS.read(parse_json(metadata[METADATA]), {})
    except ParseFault as fault:
        raise FileFormatError(path, None, f"expected JSON in the metadata `rerank`, got {fault}. {_REMEDY}") from None
    except SchemaError as error:
        raise FileFormatError(path, None, f"metadata.{error.fault(_REMEDY)}") from None


def _batches(file: Any) -> Iterator[tuple[int, Any]]:
    """Yield the first row and the rows of each part of the file."""
    first = 0
    for batch in file.iter_batches(batch_size=ROWS_AT_ONCE):
        if batch.num_rows:
            yield first, batch
            first += batch.num_rows


def _append(path: Path, first: int, batch: Any, columns: _Columns, table: RowTable) -> None:
    """Append the rows of a part to the table."""
    queries, docs = (_ids(path, first, batch, columns.named[column]) for column in (QUERY_ID, DOC_ID))
    numbers = {
        column: _finite(path, first, _numbers(batch.column(columns.named[column])), columns.named[column])
        for column in NUMBERS
        if column in columns.named
    }
    X = np.empty((batch.num_rows, len(columns.features)), dtype=np.float32)
    for number, name in enumerate(columns.features):
        with np.errstate(over="ignore"):
            X[:, number] = _numbers(batch.column(name))
    table.append(queries, docs, numbers, X)


def _ids(path: Path, first: int, batch: Any, name: str) -> list[str]:
    ids = [None if value is None else str(value) for value in batch.column(name).to_pylist()]
    for row, value in enumerate(ids, first):
        if value is None or not _is_id(value):
            got = "null" if value is None else shown(value) if len(value) <= MOST_LETTERS else f"{len(value)} of them"
            raise FileFormatError(
                path, None, f"expected ids {_RULE} in column {name}, got {got} at row {row}. Fill it in."
            )
    return [value for value in ids if value is not None]


def _is_id(text: str) -> bool:
    return 0 < len(text) <= MOST_LETTERS and "\0" not in text


def _numbers(column: Any) -> NDArray[Any]:
    """Return numbers as an array; null is NaN."""
    import pyarrow

    if pyarrow.types.is_null(column.type):
        return np.full(len(column), np.nan)
    if pyarrow.types.is_boolean(column.type):
        column = column.cast(pyarrow.uint8())
    values: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return values


def _finite(path: Path, first: int, values: NDArray[Any], name: str) -> Floats:
    numbers = values.astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(numbers))
    if len(bad):
        raise FileFormatError(
            path,
            None,
            f"expected a finite number in every row of column {shown(name)}, got {numbers[bad[0]]} or null at row "
            f"{first + bad[0]}. Fill it in, or leave the row out.",
        )
    return numbers


def _record(path: Path, table: RowTable, columns: _Columns, members: Mapping[str, Any]) -> RankingData:
    if not table.docs:
        raise FileFormatError(path, None, "expected rows, got none. Name a file with rows.")
    names, query, order = table.queries()
    docs = table.doc_ids()
    refuse_repeats(path, names, query, docs)  # type: ignore[arg-type]
    rows = np.arange(table.n_rows) if order is None else order
    ptr = query_ptr(query, len(names))
    given = {column: table.column(column)[rows] for column in NUMBERS if column in columns.named}
    is_same = members["features"] == columns.features
    ideal_labels, ideal_ptr = ideal_arrays(of_queries(path, None, names, "ideal labels", members["ideal_labels"]))
    return RankingData(
        query_ids=names,
        query_ptr=ptr,
        doc_ids=docs[rows],  # type: ignore[arg-type]
        X=table.matrix(len(columns.features), order),
        feature_names=columns.features,
        labels=given.get(LABEL),
        base_scores=given.get(BASE_SCORE),
        ideal_labels=ideal_labels,
        ideal_ptr=ideal_ptr,
        recipe=members["recipe"] if is_same else None,
        fingerprint=members["fingerprint"] if is_same else None,
        retriever=members["retriever"],
        run_retrievers=members["run_retrievers"],
        **given_weights(given.get(WEIGHT), ptr),
    )
