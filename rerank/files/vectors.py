"""Vectors from outside, with their ids.

.npy      NumPy's array of shape (n, dimensions); the ids are in a file of the same name with .ids, one a line
.parquet  columns `id` (or query_id, qid, doc_id, docno) and `vector` (or embedding), a list of numbers
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import FileFormatError, InvalidInputError, shown
from rerank.files.line_records import check_ids
from rerank.files.parquet import opened_parquet
from rerank.files.source import check_file, filled_lines, of_line
from rerank.runtime.fields import first_repeated
from rerank.types.ids import Ids, id_array

IDS = ("id", "query_id", "qid", "doc_id", "docno")
VECTOR = ("vector", "embedding")
MOST_DIMENSIONS = 4096


def read_vectors(path: str | Path) -> tuple[Ids, NDArray[np.float32]]:
    """Read vectors with their ids.

    Parameters
    ----------
    path : str or Path
        A .npy file, whose ids are in a file of the same name that ends in .ids; or a .parquet file.

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
        raise FileFormatError(
            path,
            None,
            "expected vectors in a file that ends in .npy or .parquet, got another. Load them and pass (ids, array).",
        )
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
    """Return ids and vectors as arrays; raise InvalidInputError for broken ids, wrong shapes and infinite values."""
    labels = ids.tolist() if isinstance(ids, np.ndarray) else list(ids)
    for number, label in enumerate(labels):
        if label is None or isinstance(label, float | np.floating):
            raise InvalidInputError(
                f"vectors: expected ids that are text or whole numbers, got {shown(label)} at vector {number}. Give "
                "each vector its id."
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
    """Return the ids and the vectors, (n, dimensions) float64, of a Parquet file."""
    with opened_parquet(path) as file:
        table = file.read()
        columns = [next((name for name in names if name in table.column_names), None) for names in (IDS, VECTOR)]
        if None in columns:
            have = shown(", ".join(table.column_names))
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
