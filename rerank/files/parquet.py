"""Ranking data as Parquet: a row for each query-document pair, as data warehouses write them; needs pyarrow.

    query_id    text or whole numbers (also named qid)
    doc_id      text or whole numbers (also named docno, doc)
    label       number, optional (also named relevance)
    base_score  number, optional
    weight      number, optional; of the query where its rows have the same, else of each row
    others      features by name: numbers or booleans; null and NaN are missing values

The schema metadata `rerank` is the JSON of `rerank.files.rows.ABOUT` with its checksum; pages have theirs. Recipe and
fingerprint are only those of the same features in the same order.
"""

import binascii
import json
from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import FileFormatError, InvalidInputError, shown
from rerank.files.companions import companions_of, name_unread
from rerank.files.json_lines import json_object
from rerank.files.rows import ABOUT, NOTHING, VERSION, RowTable
from rerank.files.source import check_file, of_line
from rerank.runtime.fields import at
from rerank.runtime.json_files import checksum_of
from rerank.runtime.mapped_rows import RowFile, row_blocks
from rerank.runtime.output import whole_file
from rerank.types import RankingData
from rerank.types.data_frames import DOC_ID, LABEL, QUERY_ID, MappingFrame
from rerank.types.ranking_data import (
    BASE_SCORE,
    NOT_FEATURES,
    WEIGHT,
    pair_columns,
    read_pairs,
    stored_members,
)

PARQUET = ".parquet"
METADATA = b"rerank"  # key of what Parquet stores of the data as a whole
ROWS_AT_ONCE = 1 << 14


def read_parquet(path: str | Path, mapped: bool = False) -> RankingData:
    """Read ranking data from Parquet."""
    path = check_file(path, "a Parquet file")
    with opened_parquet(path) as file:
        _check_names(path, file)
        about = of_line(path, None, _about, file.schema_arrow.metadata or {})
        table = RowTable(RowFile(f"the features of {path}") if mapped else [])
        first = 0
        columns = tuple(name for name in file.schema_arrow.names if name not in NOT_FEATURES)
        # None: `read_pairs` chooses them by the first batch, for all: another batch might say something else
        names = columns if columns == about["features"] else None
        for batch in file.iter_batches(batch_size=ROWS_AT_ONCE):
            values = {name: _values(column) for name, column in zip(batch.schema.names, batch.columns, strict=True)}
            query_ids, doc_ids, X, names, numbers = of_line(path, None, read_pairs, MappingFrame(values, first), names)
            if batch.num_rows:
                table.append(query_ids.tolist(), doc_ids.tolist(), numbers, X)
            first += batch.num_rows
    if not table.docs:
        raise FileFormatError(path, None, "expected rows, got none. Name a file with rows.")
    name_unread(path, companions_of(path))
    if about["features"] != names:
        about = {**about, "recipe": None, "fingerprint": None}
    return of_line(path, None, table.record, path, names, about, np.concatenate(table.docs))


def write_parquet(data: RankingData, path: str | Path, blocks: Iterable[NDArray[np.float32]] | None = None) -> None:
    """Write ranking data as Parquet, each block as a row group. Queries without rows are not written.

    Shapes: blocks float32 (n_rows_of_block, n_features).
    """
    arrow, parquet = _pyarrow(path)
    columns = pair_columns(data, slice(0, 0), data.X[:0])
    kinds = dict.fromkeys((QUERY_ID, DOC_ID), arrow.string()) | dict.fromkeys(
        (LABEL, BASE_SCORE, WEIGHT), arrow.float64()
    )
    about = {"version": VERSION, **stored_members(data)}
    if data.n_features:
        about["features"] = list(data.feature_names)
    about["checksum"] = checksum_of(about)
    metadata = {METADATA: json.dumps(about, ensure_ascii=False, allow_nan=False).encode()}
    schema = arrow.schema([(name, kinds.get(name, arrow.float32())) for name in columns], metadata=metadata)
    with (
        whole_file(path, binary=True) as handle,
        parquet.ParquetWriter(handle, schema, write_page_checksum=True) as writer,
    ):
        first = 0
        for block in (X for _, X in row_blocks(data.X)) if blocks is None else blocks:
            columns = pair_columns(data, slice(first, first + len(block)), np.asfortranarray(block))
            writer.write_table(arrow.table(columns, schema=schema))
            first += len(block)


def _check_names(path: Path, file: Any) -> None:
    """Refuse names of columns that are not those of Arrow's copy of the schema, where the file has one."""
    import pyarrow

    copy = (file.metadata.metadata or {}).get(b"ARROW:schema")
    if copy is None:
        return
    written = pyarrow.ipc.read_schema(pyarrow.py_buffer(b64decode(copy))).names
    for name, read in zip_longest(written, file.schema_arrow.names):
        if name != read:
            raise FileFormatError(
                path,
                None,
                f"expected the column {shown(name)} of its own copy of the names, got {shown(read)}. Write the file "
                "anew.",
            )


def _about(metadata: Mapping[bytes, bytes]) -> dict[str, Any]:
    """Return what the schema metadata hold of the data as a whole."""
    if METADATA not in metadata:
        return NOTHING
    stored = json_object(metadata[METADATA].decode("utf-8", "replace"))
    checksum = stored.pop("checksum", None)
    if checksum not in (None, checksum_of(stored)):
        raise InvalidInputError(
            f"metadata: expected the checksum {checksum_of(stored)}, got {shown(checksum)}. Write the file anew."
        )
    with at("metadata"):
        return ABOUT.read(stored)


def _values(column: Any) -> NDArray[Any]:
    """Return the values of a column: numbers, where null is NaN, or Python's objects, where it is None."""
    from pyarrow import types, uint8

    kind = column.type
    if types.is_null(kind):
        return np.full(len(column), np.nan)
    if types.is_boolean(kind):
        column = column.cast(uint8())
    if types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind):
        return column.to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]
    return np.fromiter(column.to_pylist(), dtype=object, count=len(column))


def _pyarrow(path: str | Path) -> tuple[Any, Any]:
    """Return the modules pyarrow and pyarrow.parquet."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise InvalidInputError(
            f"{path}: expected pyarrow installed, which reads and writes Parquet, got none. Run `pip install pyarrow`."
        ) from error
    return pyarrow, pyarrow.parquet


@contextmanager
def opened_parquet(path: Path) -> Iterator[Any]:
    """Yield the opened file; pyarrow's errors are raised as errors of the file."""
    arrow, parquet = _pyarrow(path)
    try:
        with parquet.ParquetFile(path, page_checksum_verification=True) as file:
            yield file
    # OSError: damaged pages and files that cannot be read; UnicodeDecodeError: text that is not UTF-8
    except (arrow.ArrowException, OSError, UnicodeDecodeError, binascii.Error, MemoryError, OverflowError) as fault:
        raise FileFormatError(
            path, None, "expected a Parquet file, got something else or a damaged file. Write or fetch it anew."
        ) from fault
