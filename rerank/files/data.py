"""Ranking data as text (`svmlight.py`), in the native binary format or as Parquet, by the ending of the path.

.svm .txt .letor, also with .gz   LETOR / SVMlight text
.npz                              NumPy arrays without pickle: every attribute of RankingData by its name, and `about`,
                                  the UTF-8 bytes of JSON with format, version, recipe, fingerprint, retriever and
                                  run_retrievers
.parquet                          see `parquet.py`
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import FileFormatError, InvalidInputError, shown
from rerank.files.data_parts import data_files, joined
from rerank.files.grouping import repeated_row
from rerank.files.npz import NpzFault, array_shape, read_arrays
from rerank.files.parquet import ENDING as PARQUET
from rerank.files.parquet import parquet_shape, read_parquet, write_parquet
from rerank.files.source import check_file
from rerank.files.svmlight import read_svmlight, write_svmlight
from rerank.runtime.output import whole_file
from rerank.runtime.schema import Plain, SchemaError, at
from rerank.runtime.strict_json import ParseFault, parse_json
from rerank.types import RankingData, query_rows
from rerank.types.arrays import are_pointers
from rerank.types.ids import id_array, id_bytes
from rerank.types.retriever import retriever_members, stored_retrievers

Floats32 = NDArray[np.float32]
_ROWS_PER_WRITE = 4096
FORMAT, VERSION = "rerank data", 1
LAST_CHARACTER, SURROGATES = 0x10FFFF, 0xD800 >> 11  # of Unicode; a lone surrogate is not a character
CHARACTERS_AT_ONCE = 1 << 20
TEXT_ENDINGS = (".svm", ".txt", ".letor")
DATA_ENDINGS = (*TEXT_ENDINGS, *(f"{ending}.gz" for ending in TEXT_ENDINGS), ".npz", PARQUET)
KINDS: dict[str, tuple[str, Any]] = {  # array -> NumPy kinds that it may have, and the type that it is cast to
    "query_ids": ("USiu", np.str_),
    "query_ptr": ("iu", np.int64),
    "doc_ids": ("USiu", np.str_),
    "X": ("fiub", np.float32),
    "feature_names": ("US", np.str_),
    "labels": ("fiub", np.float64),
    "base_scores": ("fiub", np.float64),
    "weights": ("fiub", np.float64),
    "ideal_labels": ("fiub", np.float64),
    "ideal_ptr": ("iu", np.int64),
}
REQUIRED = ("query_ids", "query_ptr", "doc_ids", "X", "feature_names")


def read_data(path: str | Path | Sequence[str | Path], mapped: bool = False) -> RankingData:
    """Read ranking data.

    Parameters
    ----------
    path : str or Path, or sequence of them
        A .svm, .txt, .letor (also with .gz), .npz or .parquet file; a folder of such files; or several, whose rows
        follow one another (`rerank.files.data_parts`).
    mapped : bool
        Whether the features stay in a memory-mapped file, which rankers of boosted trees read block by block. A single
        .npz file that rerank wrote is mapped as it is; otherwise they are copied to a temporary file in the folder
        that TMPDIR sets, which is gone when the process ends.

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
    readers = [_reader(file) for file in files]  # refuses unknown endings before a file is read
    if not files:
        raise InvalidInputError("data: expected a file of ranking data, got none. Name one.")
    parts = (read(file, mapped) for read, file in zip(readers, files, strict=True))
    return next(parts) if len(files) == 1 else joined(files, parts, mapped)


def data_shape(path: str | Path | Sequence[str | Path]) -> tuple[int, int] | None:
    """Return the numbers of rows and features without reading the rows, or None if a file is text."""
    files = data_files(path, DATA_ENDINGS)
    if not all(file.name.endswith((".npz", PARQUET)) for file in files):
        return None
    shapes = [parquet_shape(file) if file.name.endswith(PARQUET) else _binary_shape(file) for file in files]
    return sum(rows for rows, _ in shapes), max((columns for _, columns in shapes), default=0)


def _binary_shape(path: Path) -> tuple[int, int]:
    try:
        shape = array_shape(check_file(path, "a .npz file of ranking data"), "X")
    except NpzFault as fault:
        raise _damaged(path, str(fault)) from fault
    if len(shape) != 2:
        raise _damaged(path, f"X of shape {shape}")
    return shape[0], shape[1]


def _reader(path: Path) -> Callable[[Path, bool], RankingData]:
    """Return the function that reads a file of this ending."""
    if path.name.endswith(PARQUET):
        return read_parquet
    return _read_native if _is_binary(path) else _read_text


def _read_text(path: Path, mapped: bool) -> RankingData:
    return read_svmlight(path, mapped=mapped)


def _read_native(path: Path, mapped: bool) -> RankingData:
    data = read_binary(path, mapped)
    try:
        data.check_values()
    except InvalidInputError as error:
        raise FileFormatError(path, None, str(error)) from None
    row = repeated_row(query_rows(data.query_ptr), data.stored_ids)
    if row is not None:
        raise _damaged(path, f"document {shown(str(data.doc_ids[row]))} twice in a query (row {row})")
    return data


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
    if str(path).endswith(PARQUET):
        write_parquet(data, path, blocks)
    elif _is_binary(path):
        _write_binary(data, path, blocks)
    else:
        write_svmlight(data, path, blocks)


def _is_binary(path: str | Path) -> bool:
    name = str(path)
    if name.endswith(".npz"):
        return True
    if name == "-" or name.removesuffix(".gz").endswith(TEXT_ENDINGS):
        return False
    raise InvalidInputError(
        f"{path}: expected a name that ends in {', '.join(TEXT_ENDINGS)} (also with .gz), .npz or {PARQUET}. "
        "Rename the file."
    )


def _write_binary(data: RankingData, path: str | Path, blocks: Iterable[Floats32] | None) -> None:
    arrays = {name: getattr(data, name) for name in KINDS if name != "X"}
    arrays["feature_names"] = id_array(data.feature_names)
    about = {
        "format": FORMAT,
        "version": VERSION,
        "recipe": _plain(data.recipe),
        "fingerprint": _plain(data.fingerprint),
        **retriever_members(data.retriever, data.run_retrievers),
    }
    arrays["about"] = np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)
    with whole_file(path, binary=True) as handle, zipfile.ZipFile(handle, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            if array is not None:
                with archive.open(_entry(name), "w", force_zip64=True) as entry:
                    np.lib.format.write_array(entry, np.asarray(array), allow_pickle=False)
        with archive.open(_entry("X"), "w", force_zip64=True) as entry:
            _write_features(entry, data.X, [data.X] if blocks is None else blocks)


def _entry(name: str) -> zipfile.ZipInfo:
    """Return an archive entry without a time, so that the same data give the same bytes."""
    return zipfile.ZipInfo(f"{name}.npy")


def _write_features(entry: IO[bytes], shape_of: Floats32, blocks: Iterable[Floats32]) -> None:
    header = {"descr": "<f4", "fortran_order": False, "shape": shape_of.shape}
    np.lib.format.write_array_header_1_0(entry, header)
    for block in blocks:
        for first in range(0, len(block), _ROWS_PER_WRITE):
            entry.write(np.ascontiguousarray(block[first : first + _ROWS_PER_WRITE], dtype="<f4").tobytes())


def _plain(value: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if value is None else dict(value)


def read_binary(path: str | Path, mapped: bool = False) -> RankingData:
    """Read a .npz file and check that its arrays have consistent shapes; values are not checked.

    mapped  the features are memory-mapped, and document ids are UTF-8 bytes
    """
    path = check_file(path, "a .npz file of ranking data")
    arrays = _arrays(path, mapped)
    about = _about(path, arrays.pop("about", None))
    missing = [name for name in REQUIRED if name not in arrays]
    if missing:
        raise _damaged(path, f"no {missing[0]}")
    members = {name: _cast(path, name, array) for name, array in arrays.items()}
    _check_fit(path, members)
    if mapped:
        members["doc_ids"] = id_bytes(members["doc_ids"])
    members["feature_names"] = tuple(members["feature_names"].tolist())
    try:
        return RankingData(**members, **about)
    except InvalidInputError as error:
        raise FileFormatError(path, None, str(error)) from None


def _arrays(path: Path, mapped: bool) -> dict[str, Any]:
    kinds = {"about": "u", **{name: kinds for name, (kinds, _) in KINDS.items()}}
    try:
        return read_arrays(path, kinds, "X" if mapped else "")
    except NpzFault as fault:
        raise _damaged(path, str(fault)) from fault


def _cast(path: Path, name: str, array: Any) -> Any:
    """Return an array in the type of RankingData; a number too large for the type becomes infinite."""
    if KINDS[name][1] is not np.str_:
        with np.errstate(over="ignore"):
            return array.astype(KINDS[name][1], copy=False)
    try:
        texts = np.char.decode(array, "utf-8") if array.dtype.kind == "S" else array.astype(np.str_)
    except UnicodeError:
        raise _damaged(path, f"{name} that are no text") from None
    texts = texts if texts.dtype.itemsize else texts.astype("U1")
    characters = np.ascontiguousarray(texts).ravel().view(np.uint32)
    for first in range(0, len(characters), CHARACTERS_AT_ONCE):
        some = characters[first : first + CHARACTERS_AT_ONCE]
        if ((some > LAST_CHARACTER) | (some >> 11 == SURROGATES)).any():
            raise _damaged(path, f"{name} that are no text")
    return texts


def _about(path: Path, raw: Any) -> dict[str, Any]:
    """Return recipe, fingerprint and retrievers from the JSON of `about`."""
    if raw is None:
        raise _damaged(path, "arrays of something else")
    try:
        about = parse_json(raw.tobytes())
    except ParseFault as fault:
        raise _damaged(path, f"arrays of something else (about: {fault})") from None
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise _damaged(path, "arrays of something else")
    version = about.get("version")
    if type(version) is not int or version != VERSION:
        raise FileFormatError(
            path,
            None,
            f"expected ranking data of version {VERSION}, got {shown(version)}. "
            "Update rerank, or write the file anew with this version.",
        )
    try:
        plain = {name: _read_plain(name, about.get(name)) for name in ("recipe", "fingerprint")}
        return {**plain, **stored_retrievers(about)}
    except SchemaError as error:
        raise FileFormatError(path, None, f"about.{error.fault('Write the file anew.')}") from None


def _read_plain(name: str, value: Any) -> Any:
    with at(name):
        return Plain().read(value, {})


def _check_fit(path: Path, members: Mapping[str, Any]) -> None:
    """Raise unless the arrays describe the same queries and rows."""
    n_queries, n_rows = members["query_ids"].size, members["doc_ids"].size
    shapes = {
        "query_ids": (n_queries,),
        "doc_ids": (n_rows,),
        "X": (n_rows, members["feature_names"].size),
        "labels": (n_rows,),
        "base_scores": (n_rows,),
        "weights": (n_queries,),
        "query_ptr": (n_queries + 1,),
        "ideal_ptr": (n_queries + 1,),
    }
    for name, shape in shapes.items():
        if name in members and members[name].shape != shape:
            raise _damaged(path, f"{name} of shape {members[name].shape} where {shape} fits")
    if ("ideal_ptr" in members) != ("ideal_labels" in members):
        raise _damaged(path, "ideal_labels without ideal_ptr, or the other way round")
    _check_pointers(path, "query_ptr", members["query_ptr"], n_rows)
    if "ideal_ptr" in members:
        _check_pointers(path, "ideal_ptr", members["ideal_ptr"], members["ideal_labels"].size)


def _check_pointers(path: Path, name: str, ptr: Any, size: int) -> None:
    if not are_pointers(ptr, len(ptr) - 1, size):
        raise _damaged(path, f"{name} that does not rise from 0 to {size}")


def _damaged(path: str | Path, found: str) -> FileFormatError:
    return FileFormatError(path, None, f"expected ranking data that rerank wrote, got {found}. Write the file anew.")
