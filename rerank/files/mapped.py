"""Binary files of arrays that are memory-mapped: a header, the arrays, and a checksum.

    8 bytes    magic number and version of the layout
    8 bytes    n, the length of the header, a little-endian whole number
    n bytes    the header, JSON: kind and format of the file, plain values, and name, type and shape of each array
    ...        the arrays in C order, each aligned to 64 bytes, with zeros between them
    32 bytes   sha256 of everything before

Opening a file checks header and sizes. The checksum and the content of the arrays are checked once for each state of
the file; a note in the cache folder has the size and times of verified files.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import FileFormatError, MissingFileError, RerankError, shown
from rerank.files.npz import LARGEST_EMPTY
from rerank.runtime.cache import file_state, is_noted, note_path, write_note
from rerank.runtime.output import whole_file
from rerank.runtime.strict_json import ParseFault, parse_json

MAGIC = b"\x93RERANK\x01"
LONGEST_HEADER = 1 << 24  # bytes
_ALIGNMENT, _DIGEST = 64, 32
_FIRST = len(MAGIC) + 8
_TYPE = re.compile(r"<f4|<f8|<i4|<i8|\|u1")
_BYTES_PER_READ = 1 << 22


class MappedFault(ValueError):
    """An error in a mapped file; the message is a short description of what was found."""


@dataclass(frozen=True, eq=False)
class BlockArray:
    """An array that is written block by block, so that it need not be in memory at once.

    Parameters
    ----------
    dtype : dtype
        Type of the values.
    shape : tuple of int
        Shape of the whole array.
    blocks : iterable of ndarray
        The rows, in order.

    """

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    blocks: Iterable[NDArray[Any]]


@dataclass(frozen=True, eq=False)
class MappedFile:
    """The content of a file.

    Parameters
    ----------
    values : mapping from str to object
        Plain JSON values.
    arrays : mapping from str to ndarray
        Read-only memory maps.

    """

    values: Mapping[str, Any]
    arrays: Mapping[str, NDArray[Any]]

    def array(self, name: str, dtype: Any, *shape: int | None) -> NDArray[Any]:
        """Return an array of a type and shape, None in the shape matches any length; otherwise raise MappedFault."""
        array = self.arrays.get(name)
        if array is None:
            raise MappedFault(f"no array {name}")
        fits = array.ndim == len(shape) and all(
            expected in (None, length) for length, expected in zip(array.shape, shape, strict=True)
        )
        if array.dtype != dtype or not fits:
            raise MappedFault(f"{name} of type {array.dtype} and shape {array.shape}")
        return array


def write_mapped(
    path: str | Path,
    kind: str,
    file_format: int,
    values: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any] | BlockArray],
) -> None:
    """Write a file; the same content gives the same bytes."""
    given = {name: array if isinstance(array, BlockArray) else _whole(array) for name, array in arrays.items()}
    header = {
        "kind": kind,
        "format": file_format,
        "values": dict(values),
        "arrays": [
            {"name": name, "dtype": array.dtype.str, "shape": list(array.shape)} for name, array in given.items()
        ],
    }
    content = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode("utf8")
    content += b" " * (-(_FIRST + len(content)) % _ALIGNMENT)
    with whole_file(path, binary=True) as file:
        digest = hashlib.sha256()
        _write(file, digest, MAGIC + len(content).to_bytes(8, "little") + content)
        for name, array in given.items():
            _write_array(file, digest, name, array)
        file.write(digest.digest())


def _whole(array: NDArray[Any]) -> BlockArray:
    little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    return BlockArray(little.dtype, little.shape, [little])


def _write(file: IO[bytes], digest: Any, content: bytes | memoryview) -> None:
    digest.update(content)
    file.write(content)


def _write_array(file: IO[bytes], digest: Any, name: str, array: BlockArray) -> None:
    n_bytes = 0
    for block in array.blocks:
        part = np.ascontiguousarray(block, dtype=array.dtype)
        if part.nbytes:
            _write(file, digest, part.reshape(-1).view(np.uint8).data)
        n_bytes += part.nbytes
    if n_bytes != prod(array.shape) * array.dtype.itemsize:
        raise ValueError(f"{name}: blocks of {n_bytes} bytes for shape {array.shape}")
    _write(file, digest, bytes(-n_bytes % _ALIGNMENT))


def read_mapped(
    path: str | Path, kind: str, file_format: int, check: Callable[[MappedFile], object], remedy: str
) -> MappedFile:
    """Return the content of a file, with the arrays as memory maps."""
    path = Path(path)
    if not path.is_file():
        raise MissingFileError(path, f"a file of {kind}")
    try:
        content = _open(path, kind, file_format)
        state, notes = file_state(path), [note_path(path)]
        if not is_noted(notes, state):
            _check_digest(path)
            check(content)
            write_note(notes, state)
    except (MappedFault, OSError, ParseFault) as fault:
        if isinstance(fault, RerankError):
            raise
        raise FileFormatError(path, None, f"expected {kind}, got {fault}. {remedy}") from None
    return content


def _open(path: Path, kind: str, file_format: int) -> MappedFile:
    size = path.stat().st_size
    with path.open("rb") as file:
        start = file.read(_FIRST)
        length = int.from_bytes(start[len(MAGIC) :], "little")
        if start[: len(MAGIC)] != MAGIC:
            raise MappedFault("another kind of file")
        if length > min(LONGEST_HEADER, size):
            raise MappedFault("a damaged header")
        header = parse_json(file.read(length))
    _check_header(header, kind, file_format)
    arrays, offset = {}, _FIRST + length
    for array in header["arrays"]:
        name, dtype, shape = _checked_array(array)
        n_bytes = prod(shape) * dtype.itemsize
        if name in arrays or offset + n_bytes > size:
            raise MappedFault("a file that is cut off" if name not in arrays else f"{name} twice")
        mapped = np.memmap(path, dtype, "r", offset, shape) if n_bytes else np.empty(shape, dtype)
        arrays[name] = np.asarray(mapped)
        offset += n_bytes + -n_bytes % _ALIGNMENT
    if offset + _DIGEST != size:
        raise MappedFault(f"{size} bytes where {offset + _DIGEST} are described")
    return MappedFile(header["values"], arrays)


def _check_header(header: Any, kind: str, file_format: int) -> None:
    """Refuse a header of another kind or version, or one without its parts."""
    known = isinstance(header, dict) and isinstance(header.get("values"), dict)
    if not known or not isinstance(header.get("arrays"), list):
        raise MappedFault("a damaged header")
    if header.get("kind") != kind:
        raise MappedFault(f"a file of {shown(header.get('kind'))}")
    if type(header.get("format")) is not int or header["format"] != file_format:
        raise MappedFault(f"format {shown(header.get('format'))} where {file_format} is read")


def _checked_array(array: Any) -> tuple[str, np.dtype[Any], tuple[int, ...]]:
    if not isinstance(array, dict) or set(array) != {"name", "dtype", "shape"}:
        raise MappedFault("a damaged header")
    name, dtype, shape = array["name"], array["dtype"], array["shape"]
    if not (isinstance(name, str) and isinstance(dtype, str) and _TYPE.fullmatch(dtype) and isinstance(shape, list)):
        raise MappedFault("a damaged header")
    sizes_fit = len(shape) <= 3 and all(type(length) is int and length >= 0 for length in shape)
    if not sizes_fit or prod(length for length in shape if length) > LARGEST_EMPTY:
        raise MappedFault("a damaged header")
    return name, np.dtype(dtype), tuple(shape)


def _check_digest(path: Path) -> None:
    digest, left = hashlib.sha256(), path.stat().st_size - _DIGEST
    with path.open("rb") as file:
        while left > 0 and (part := file.read(min(_BYTES_PER_READ, left))):
            digest.update(part)
            left -= len(part)
        if file.read(_DIGEST + 1) != digest.digest():
            raise MappedFault("a damaged file (its checksum is another)")
