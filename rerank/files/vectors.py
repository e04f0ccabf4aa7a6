"""Vectors from outside: an array with the id of each row.

.npy      NumPy's array of shape (n, dimensions); the ids are in the file of the same name that ends in .ids, one a line
.parquet  columns `id` (or query_id, qid, doc_id, docno) and `vector` (or embedding), a list of numbers; needs pyarrow
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import FileFormatError, InvalidInputError, shown
from rerank.files.source import check_file, filled_lines, reads_files
from rerank.runtime.schema import first_repeated
from rerank.types.ids import ID_RULE, Ids, first_broken, id_array

IDS = ("id", "query_id", "qid", "doc_id", "docno")
VECTOR = ("vector", "embedding")
MOST_DIMENSIONS = 4096


@reads_files
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
    ids, values = _of_npy(path) if path.suffix == ".npy" else _of_parquet(path)
    try:
        return checked_vectors(ids, values)
    except InvalidInputError as error:
        raise FileFormatError(path, None, str(error).removeprefix("vectors: ")) from None


def checked_vectors(ids: Any, values: Any) -> tuple[Ids, NDArray[np.float32]]:
    """Return ids and vectors as arrays; raise InvalidInputError for what they cannot be."""
    given = ids.tolist() if isinstance(ids, np.ndarray) else list(ids)
    wrong_ids = [number for number, each in enumerate(given) if each is None or isinstance(each, float | np.floating)]
    if wrong_ids:
        raise InvalidInputError(
            f"vectors: expected ids that are text or whole numbers, got {given[wrong_ids[0]]!r} at vector "
            f"{wrong_ids[0]}. Give each vector its id."
        )
    names = list(map(str, given))
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
    broken = first_broken(names)
    if broken is not None:
        raise InvalidInputError(f"vectors: expected ids {ID_RULE}, got {shown(broken)}. Rename it.")
    repeated = first_repeated(names)
    if repeated is not None:
        raise InvalidInputError(
            f"vectors: expected each id once, got {shown(names[repeated])} twice. Drop one of the vectors."
        )
    with np.errstate(over="ignore"):
        vectors = np.ascontiguousarray(array, dtype=np.float32)
    for first in range(0, len(vectors), 1 << 12):
        wrong = np.flatnonzero(~np.isfinite(vectors[first : first + (1 << 12)]).all(axis=1))
        if len(wrong):
            raise InvalidInputError(
                f"vectors: expected finite numbers within float32, got others for {shown(names[first + wrong[0]])}. "
                "Encode it again."
            )
    return id_array(names), vectors


def _of_npy(path: Path) -> tuple[list[str], NDArray[Any]]:
    """Return ids and array of a file of NumPy; nothing in it is executed."""
    try:
        values = np.lib.format.open_memmap(path, mode="r")
    except Exception:  # a damaged header raises errors of many kinds
        raise FileFormatError(
            path, None, "expected an array of NumPy, got another file. Write it by np.save."
        ) from None
    ids = check_file(path.with_suffix(".ids"), "the ids of the vectors, one a line")
    return [content.strip() for _, content in filled_lines(ids)], values


def _of_parquet(path: Path) -> tuple[list[Any], NDArray[Any]]:
    """Return ids and vectors of a Parquet file."""
    try:
        import pyarrow.parquet as parquet
    except ImportError as error:
        raise InvalidInputError(
            f"{path}: expected pyarrow installed to read Parquet, got none. Run `pip install 'lucene-rerank[parquet]'`."
        ) from error
    try:
        table = parquet.read_table(path)
        have = table.column_names
    except Exception:  # as a damaged footer does
        raise FileFormatError(path, None, "expected a Parquet file, got another one. Write it anew.") from None
    columns = [next((name for name in names if name in have), None) for names in (IDS, VECTOR)]
    if None in columns:
        raise FileFormatError(path, None, f"expected the columns id and vector, got {shown(have)}. Rename the columns.")
    try:
        rows = table.column(columns[1]).to_pylist()
    except (ValueError, OverflowError):
        raise FileFormatError(path, None, "expected a Parquet file, got damaged values. Write it anew.") from None
    if len({len(row) if isinstance(row, list) else -1 for row in rows}) > 1:
        raise FileFormatError(path, None, "expected vectors of one length, got several. Encode all with one model.")
    try:
        values = np.array(rows, dtype=np.float64)
        return table.column(columns[0]).to_pylist(), values
    except (TypeError, ValueError):
        raise FileFormatError(
            path, None, "expected ids as text and vectors as lists of numbers, got others. Write the columns anew."
        ) from None
