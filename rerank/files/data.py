"""Ranking data as text, in the native binary format or as Parquet, by the ending of the path.

.svm .txt .letor, also with .gz   LETOR / SVMlight text (`svmlight.py`)
.npz                              NumPy arrays without pickle: every attribute of RankingData by its name, and `about`,
                                  the UTF-8 bytes of JSON with format, version, recipe, fingerprint, retriever and
                                  run_retrievers
.parquet                          a row for each query-document pair (`parquet.py`)

Rows of a query need not be adjacent; queries are ordered by their first row. What was written is read back unchanged,
except that queries without rows are lost. Files are read and written in parts, never whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import InvalidInputError, log, shown
from rerank.files.companions import companions_of, name_unread
from rerank.files.line_records import refuse_repeats
from rerank.files.parquet import PARQUET, read_parquet, write_parquet
from rerank.files.rows import NOT_STORED, STORED, data_files, joined_files
from rerank.files.source import check_file, checked_path, of_line
from rerank.files.svmlight import read_svmlight, write_svmlight
from rerank.runtime import store
from rerank.runtime.fields import Record
from rerank.runtime.output import path_of
from rerank.runtime.store import Blocks, Kind, Stored
from rerank.types import RankingData, id_array, id_bytes, query_rows
from rerank.types.ranking_data import stored_members, warn_of_labels

Floats32 = NDArray[np.float32]
NPZ = ".npz"
TEXT = "text"
TEXT_ENDINGS = (".svm", ".txt", ".letor")
DATA_ENDINGS = (*TEXT_ENDINGS, *(f"{ending}.gz" for ending in TEXT_ENDINGS), NPZ, PARQUET)
_WHAT = "a .npz file of ranking data"


def _kind(mapped: bool) -> Kind:
    """Return the declaration of .npz files; X is the last array, since its shape is checked against all others.

    mapped  whether X stays in a memory-mapped file
    """
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
    return Kind(
        "rerank data",
        1,
        "ranking data that rerank wrote",
        "Write the file anew with rerank, or call fit(X, y, qid=) with arrays.",
        Record(STORED, NOT_STORED),
        lambda _: arrays,
    )


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
        .npz file that rerank wrote is mapped as it is; the features of text, Parquet and several files are copied to
        a temporary file in the folder that TMPDIR sets, which is deleted when the process ends.

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
    for folder in map(checked_path, path if isinstance(path, list | tuple) else [path]):
        _name_parts(folder, [file.name for file in files if file.parent == folder])
    readers = {TEXT: read_svmlight, NPZ: read_npz, PARQUET: read_parquet}
    parts = (readers[form](file, mapped) for file, form in zip(files, forms, strict=True))
    data = next(parts) if len(files) == 1 else joined_files(files, parts, mapped)
    warn_of_labels(str(files[0]), data)
    return data


def _name_parts(folder: Path, names: list[str]) -> None:
    """Warn of a folder, as of MSLR or LETOR, whose files are the parts of a split: all of them are read."""
    training = [name for name in names if "train" in name.lower()]
    held_out = [name for name in names if name not in training and re.search("vali|test", name.lower())]
    if training and held_out:
        log.warning(
            "%s: all files of the folder are read, %s, too. For one part, name its file, e.g. %s.",
            folder,
            " and ".join(held_out),
            folder / training[0],
        )


def write_data(data: RankingData, path: str | Path, blocks: Iterable[Floats32] | None = None) -> None:
    """Write ranking data in the format of the path's ending.

    Parameters
    ----------
    data : RankingData
        The data.
    path : str or Path
        A .svm, .txt, .letor (also with .gz), .npz or .parquet file; `-` writes text to stdout.
    blocks : iterable of ndarray of shape (n_rows_of_block, n_features) and dtype float32, optional
        The features, in blocks of complete queries; of `data.X`, only the shape is then used.

    """
    if not isinstance(data, RankingData):
        raise InvalidInputError(
            f"data: expected RankingData, got {shown(repr(data))}. Pass what read_data or features returned."
        )
    writers = {TEXT: write_svmlight, NPZ: write_npz, PARQUET: write_parquet}
    writers[_form(path)](data, path, blocks)


def _form(path: str | Path) -> str:
    """Return the format of a file, by the ending of its name: TEXT, NPZ or PARQUET."""
    name = str(path)
    if name != "-":
        path_of(name)
    for ending in (NPZ, PARQUET):
        if name.endswith(ending):
            return ending
    if name == "-" or name.removesuffix(".gz").endswith(TEXT_ENDINGS):
        return TEXT
    raise InvalidInputError(
        f"{path}: expected a name that ends in {', '.join(TEXT_ENDINGS)} (also with .gz), .npz or {PARQUET}, got "
        "another. Rename the file, or pass RankingData.from_frame(frame) of CSV, read with its ids as text "
        "(pandas.read_csv(file, dtype={'qid': str, 'docno': str}))."
    )


def read_npz(path: str | Path, mapped: bool = False) -> RankingData:
    """Read a .npz file; if `mapped`, the features stay in the file, and document ids are UTF-8 bytes."""
    path = check_file(path, _WHAT)
    values, arrays = store.read(path, _kind(mapped))
    members: dict[str, Any] = {**arrays, **values, "feature_names": tuple(arrays["feature_names"].tolist())}
    if mapped:
        members["doc_ids"] = id_bytes(arrays["doc_ids"])
    data = of_line(path, None, partial(RankingData, **members))
    of_line(path, None, data.check_values)
    name_unread(path, companions_of(path))
    refuse_repeats(path, data.query_ids, query_rows(data.query_ptr), data.stored_ids)
    return data


def write_npz(data: RankingData, path: str | Path, blocks: Iterable[Floats32] | None = None) -> None:
    """Write a .npz file."""
    values = {"recipe": None, "fingerprint": None, **stored_members(data)}
    values.pop("ideal_labels", None)  # a mapping for text; here an array, added below
    arrays: dict[str, Any] = {
        name: np.asarray(getattr(data, name), field.dtype)
        for name, field in KIND.arrays({}).items()
        if name not in ("X", "feature_names") and getattr(data, name) is not None
    }
    arrays["feature_names"] = id_array(data.feature_names)
    arrays["X"] = Blocks(np.float32, data.X.shape, [data.X] if blocks is None else blocks)
    store.write(path, KIND, values, arrays)
