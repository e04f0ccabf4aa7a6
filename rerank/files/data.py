"""Ranking data as text (`svmlight.py`), in the native binary format or as Parquet, by the ending of the path.

.svm .txt .letor, also with .gz   LETOR / SVMlight text
.npz                              NumPy arrays without pickle: every attribute of RankingData by its name, and `about`,
                                  the UTF-8 bytes of JSON with format, version, recipe, fingerprint, retriever and
                                  run_retrievers
.parquet                          a row for each query-document pair, as data warehouses write them; needs pyarrow

Columns of Parquet:

    query_id    text or whole numbers (also named qid)
    doc_id      text or whole numbers (also named docno, doc)
    label       number, optional (also named relevance)
    base_score  number, optional
    weight      number, optional; of the query where its rows have the same, else of each row
    others      features by name: numbers or booleans; null and NaN are missing values

- Rows of a query need not be adjacent; queries are ordered by their first row.
- `write_parquet` adds the schema metadata `rerank`, JSON of `rerank.files.rows.ABOUT`, so that everything but queries
  without rows can be read again. Recipe and fingerprint are only those of the same features in the same order.
- A file is read and written in parts, never whole.

Vectors from outside: an array with the id of each row.

.npy      NumPy's array of shape (n, dimensions); the ids are in the file of the same name that ends in .ids, one a line
.parquet  columns `id` (or query_id, qid, doc_id, docno) and `vector` (or embedding), a list of numbers; needs pyarrow
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import FileFormatError, InvalidInputError, shown
from rerank.files.rows import (
    ABOUT,
    NOT_STORED,
    NOTHING,
    STORED,
    VERSION,
    RowTable,
    data_files,
    joined,
    refuse_repeats,
)
from rerank.files.source import check_file, check_ids, filled_lines, json_object, of_line
from rerank.files.svmlight import read_svmlight, write_svmlight
from rerank.runtime import store
from rerank.runtime.codec import Record, at, first_repeated
from rerank.runtime.mapped_rows import RowFile, row_blocks
from rerank.runtime.output import whole_file
from rerank.runtime.store import Blocks, Kind, Stored
from rerank.types import RankingData, query_rows
from rerank.types.frames import DOC_ID, LABEL, QUERY_ID, MappingFrame
from rerank.types.ids import Ids, id_array, id_bytes
from rerank.types.ranking_data import BASE_SCORE, WEIGHT, pair_columns, read_pairs, stored_members

Floats32 = NDArray[np.float32]
PARQUET = ".parquet"
NPZ = ".npz"
TEXT = "text"
METADATA = b"rerank"  # key of what Parquet stores beside the rows
ROWS_AT_ONCE = 1 << 14
TEXT_ENDINGS = (".svm", ".txt", ".letor")
DATA_ENDINGS = (*TEXT_ENDINGS, *(f"{ending}.gz" for ending in TEXT_ENDINGS), NPZ, PARQUET)
IDS = ("id", "query_id", "qid", "doc_id", "docno")
VECTOR = ("vector", "embedding")
MOST_DIMENSIONS = 4096
_WHAT = "a .npz file of ranking data"


def _kind(mapped: bool) -> Kind:
    """Return the kind of .npz files; the last array is checked against the sizes of all others."""
    numbers = partial(Stored, np.float64, optional=True)
    arrays = {
        "query_ids": Stored(np.str_, ("n_queries",)),
        "doc_ids": Stored(np.str_, ("n_rows",)),
        "feature_names": Stored(np.str_, ("n_features",)),
        "query_ptr": Stored(np.int64, ("n_queries+1",)),
        "labels": numbers(("n_rows",)),
        "base_scores": numbers(("n_rows",)),
        "weights": numbers(("n_queries",)),
        "row_weights": numbers(("n_rows",)),
        "query_groups": Stored(np.int64, ("n_queries",), optional=True),
        "ideal_labels": numbers(("n_ideal",)),
        "ideal_ptr": Stored(np.int64, ("n_queries+1",), optional=True),
        "X": Stored(np.float32, ("n_rows", "n_features"), mapped=mapped),
    }
    about = Record(STORED, NOT_STORED)
    return Kind("rerank data", 1, "ranking data that rerank wrote", "Write the file anew.", about, lambda _: arrays)


KIND = _kind(False)


def read_data(path: str | Path | Sequence[str | Path], mapped: bool = False) -> RankingData:
    """Read ranking data.

    Parameters
    ----------
    path : str or Path, or sequence of them
        A .svm, .txt, .letor (also with .gz), .npz or .parquet file; a folder of such files; or several, whose rows
        follow one another (`rerank.files.rows`).
    mapped : bool
        Whether the features stay in a memory-mapped file, which rankers of boosted trees read block by block. A single
        .npz file that rerank wrote is mapped as it is; those of other files, text and Parquet, are copied to a
        temporary file in the folder that TMPDIR sets, which is gone when the process ends.

    Returns
    -------
    RankingData
        The data.

    Raises
    ------
    InvalidInputError
        If the path has another ending, or the disk has not enough space.
    MissingFileError
        If there is no such file.
    FileFormatError
        If the content does not have the format of the ending, or is of a newer version.

    """
    files = data_files(path, DATA_ENDINGS)
    if not files:
        raise InvalidInputError("data: expected a file of ranking data, got none. Name one.")
    forms = [_form(file) for file in files]  # refuses unknown endings before a file is read
    readers = {TEXT: read_svmlight, NPZ: read_npz, PARQUET: read_parquet}
    parts = (readers[form](file, mapped) for file, form in zip(files, forms, strict=True))
    return next(parts) if len(files) == 1 else joined(files, parts, mapped)


def write_data(data: RankingData, path: str | Path, blocks: Iterable[Floats32] | None = None) -> None:
    """Write ranking data in the format of the path's ending.

    Parameters
    ----------
    data : RankingData
        The data.
    path : str or Path
        A .svm, .txt, .letor (also with .gz), .npz or .parquet file; `-` writes text to stdout.
    blocks : iterable of ndarray of shape (n_rows_of_block, n_features) and dtype float32, optional
        The features, in blocks of complete queries, in place of `data.X`, of which only the shape is then used.

    """
    writers = {TEXT: write_svmlight, NPZ: write_npz, PARQUET: write_parquet}
    writers[_form(path)](data, path, blocks)


def _form(path: str | Path) -> str:
    """Return the form of a file, by its ending."""
    name = str(path)
    if name.endswith((NPZ, PARQUET)):
        return NPZ if name.endswith(NPZ) else PARQUET
    if name == "-" or name.removesuffix(".gz").endswith(TEXT_ENDINGS):
        return TEXT
    raise InvalidInputError(
        f"{path}: expected a name that ends in {', '.join(TEXT_ENDINGS)} (also with .gz), .npz or {PARQUET}. "
        "Rename the file."
    )


def read_npz(path: str | Path, mapped: bool = False) -> RankingData:
    """Read a .npz file; where it is mapped, the features stay in it, and document ids are UTF-8 bytes."""
    path = check_file(path, _WHAT)
    values, arrays = store.read(path, _kind(mapped))
    members: dict[str, Any] = {**arrays, **values, "feature_names": tuple(arrays["feature_names"].tolist())}
    if mapped:
        members["doc_ids"] = id_bytes(arrays["doc_ids"])
    data = of_line(path, None, partial(RankingData, **members))
    of_line(path, None, data.check_values)
    refuse_repeats(path, data.query_ids, query_rows(data.query_ptr), data.stored_ids)
    return data


def write_npz(data: RankingData, path: str | Path, blocks: Iterable[Floats32] | None = None) -> None:
    """Write a .npz file."""
    values = {"recipe": None, "fingerprint": None, **stored_members(data)}
    values.pop("ideal_labels", None)  # an array here
    arrays: dict[str, Any] = {
        name: np.asarray(getattr(data, name), field.dtype)
        for name, field in KIND.arrays({}).items()
        if name not in ("X", "feature_names") and getattr(data, name) is not None
    }
    arrays["feature_names"] = id_array(data.feature_names)
    arrays["X"] = Blocks(np.float32, data.X.shape, [data.X] if blocks is None else blocks)
    store.write(path, KIND, values, arrays)


def read_parquet(path: str | Path, mapped: bool = False) -> RankingData:
    """Read ranking data from Parquet."""
    path = check_file(path, "a Parquet file")
    with opened_parquet(path) as file:
        about = of_line(path, None, _about, file.schema_arrow.metadata or {})
        table = RowTable(RowFile(f"the features of {path}") if mapped else [])
        first = 0
        names: tuple[str, ...] = ()
        for batch in file.iter_batches(batch_size=ROWS_AT_ONCE):
            values = {name: _values(column) for name, column in zip(batch.schema.names, batch.columns, strict=True)}
            query_ids, doc_ids, X, names, numbers = of_line(path, None, read_pairs, MappingFrame(values, first))
            if batch.num_rows:
                table.append(query_ids.tolist(), doc_ids.tolist(), numbers, X)
            first += batch.num_rows
    if not table.docs:
        raise FileFormatError(path, None, "expected rows, got none. Name a file with rows.")
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
    metadata = {METADATA: json.dumps(about, ensure_ascii=False, allow_nan=False).encode()}
    schema = arrow.schema([(name, kinds.get(name, arrow.float32())) for name in columns], metadata=metadata)
    with whole_file(path, binary=True) as handle, parquet.ParquetWriter(handle, schema) as writer:
        first = 0
        for block in (X for _, X in row_blocks(data.X)) if blocks is None else blocks:
            columns = pair_columns(data, slice(first, first + len(block)), np.asfortranarray(block))
            writer.write_table(arrow.table(columns, schema=schema))
            first += len(block)


def _about(metadata: Mapping[bytes, bytes]) -> dict[str, Any]:
    """Return what the schema metadata hold beside the rows."""
    if METADATA not in metadata:
        return NOTHING
    with at("metadata"):
        return ABOUT.read(json_object(metadata[METADATA].decode("utf-8", "replace")), {})


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
            f"{path}: expected pyarrow installed, which reads and writes Parquet, got none. Run "
            "`pip install lucene-rerank[parquet]`."
        ) from error
    return pyarrow, pyarrow.parquet


@contextmanager
def opened_parquet(path: Path) -> Iterator[Any]:
    """Yield the opened file; pyarrow's errors are raised as errors of the file."""
    arrow, parquet = _pyarrow(path)
    try:
        with parquet.ParquetFile(path) as file:
            yield file
    # OSError: damaged pages and files that cannot be read; UnicodeDecodeError: text that is not UTF-8
    except (arrow.ArrowException, OSError, UnicodeDecodeError, MemoryError, OverflowError) as fault:
        raise FileFormatError(
            path, None, "expected a Parquet file, got something else or a damaged file. Write or fetch it anew."
        ) from fault


def read_vectors(path: str | Path) -> tuple[Ids, NDArray[np.float32]]:
    """Read vectors with their ids.

    Parameters
    ----------
    path : str or Path
        A file that ends in .npy, with the ids beside it, or in .parquet.

    Returns
    -------
    ids : ndarray of shape (n,), dtype str
        The ids, each once.
    vectors : ndarray of shape (n, dimensions), dtype float32
        The vectors; those of a .npy file of float32 are a memory map.

    Raises
    ------
    FileFormatError, MissingFileError
        For a file that is damaged or missing.

    """
    path = check_file(path, "a file of vectors")
    if path.suffix not in {".npy", ".parquet"}:
        raise FileFormatError(path, None, "expected vectors in a file that ends in .npy or .parquet. Rename it.")
    if path.suffix == ".parquet":
        return of_line(path, None, checked_vectors, *_of_parquet(path))
    try:
        values = np.lib.format.open_memmap(path, mode="r")  # nothing in the file is executed
    except Exception:  # a damaged header raises errors of many kinds
        raise FileFormatError(
            path, None, "expected an array of NumPy, got another file. Write it by np.save."
        ) from None
    names = check_file(path.with_suffix(".ids"), "the ids of the vectors, one a line")
    ids = [content.strip() for _, content in filled_lines(names)]
    return of_line(path, None, checked_vectors, ids, values)


def checked_vectors(ids: Any, values: Any) -> tuple[Ids, NDArray[np.float32]]:
    """Return ids and vectors as arrays; raise InvalidInputError for what they cannot be."""
    labels = ids.tolist() if isinstance(ids, np.ndarray) else list(ids)
    for number, label in enumerate(labels):
        if label is None or isinstance(label, float | np.floating):
            raise InvalidInputError(
                f"vectors: expected ids that are text or whole numbers, got {label!r} at vector {number}. Give each "
                "vector its id."
            )
    names = list(map(str, labels))
    array = np.asarray(values)
    if array.ndim != 2 or array.dtype.kind not in "fiu" or not 1 <= array.shape[1] <= MOST_DIMENSIONS:
        raise InvalidInputError(
            f"vectors: expected numbers of shape (n, dimensions) with 1 to {MOST_DIMENSIONS} dimensions, got "
            f"{array.dtype} of shape {array.shape}. Correct the array."
        )
    if len(names) != len(array):
        raise InvalidInputError(
            f"vectors: expected an id for each of {len(array)} vectors, got {len(names)}. Write one id a vector."
        )
    check_ids("vectors: ", (), names)
    repeated = first_repeated(names)
    if repeated is not None:
        raise InvalidInputError(
            f"vectors: expected each id once, got {shown(names[repeated])} twice. Drop one of the vectors."
        )
    with np.errstate(over="ignore"):
        vectors = np.ascontiguousarray(array, dtype=np.float32)
    for first in range(0, len(vectors), 1 << 12):
        infinite = np.flatnonzero(~np.isfinite(vectors[first : first + (1 << 12)]).all(axis=1))
        if len(infinite):
            raise InvalidInputError(
                f"vectors: expected finite numbers within float32, got others for {shown(names[first + infinite[0]])}. "
                "Encode it again."
            )
    return id_array(names), vectors


def _of_parquet(path: Path) -> tuple[list[Any], NDArray[Any]]:
    """Return ids and vectors of a Parquet file."""
    with opened_parquet(path) as file:
        table = file.read()
        columns = [next((name for name in names if name in table.column_names), None) for names in (IDS, VECTOR)]
        if None in columns:
            have = shown(table.column_names)
            raise FileFormatError(path, None, f"expected the columns id and vector, got {have}. Rename the columns.")
        ids, rows = (table.column(name).to_pylist() for name in columns)
    try:
        return ids, np.array(rows, dtype=np.float64)
    except (TypeError, ValueError):
        raise FileFormatError(
            path,
            None,
            "expected ids as text and vectors as lists of numbers of one length, got others. Correct them.",
        ) from None
