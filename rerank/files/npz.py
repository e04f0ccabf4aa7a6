"""Reading the arrays of a .npz file without pickle; the sizes in headers are checked before memory is allocated."""

from __future__ import annotations

import re
import sys
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from rerank.files.source import MOST_RATIO, MOST_UNPACKED
from rerank.runtime.mapped_rows import RowFile

MOST_HEADER = 1 << 16
MOST_DIMENSIONS = 32
LARGEST_EMPTY = 1 << 56  # product of the other lengths of an array without values, which NumPy limits too
_BYTES_PER_READ = 1 << 22
_MAGIC = b"\x93NUMPY"
_ZIP_FAULTS = (  # raised by zipfile for damaged archives
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    OSError,
    NotImplementedError,
    RuntimeError,
    UnicodeDecodeError,
)
_HEADER = re.compile(
    rb"\{'descr': '([<>|=][a-zA-Z]\d{0,9})', 'fortran_order': (True|False), 'shape': \(([\d, ]{0,200})\),? *\} *\n?"
)


class NpzFault(ValueError):
    """An error in a .npz file; the message is a short description of what was found."""


def read_arrays(path: Path, kinds: Mapping[str, str], mapped: str = "") -> dict[str, NDArray[Any]]:
    """Return the arrays of a .npz file by name."""
    with _opened(path) as (archive, entries):
        return {
            name: _array(archive, entries[name], name, kinds[name], path if name == mapped else None)
            for name in kinds
            if name in entries
        }


def array_shape(path: Path, name: str) -> tuple[int, ...]:
    """Return the shape of an array of a .npz file, whose values are not read; raises NpzFault as `read_arrays` does."""
    with _opened(path) as (archive, entries):
        if name not in entries:
            raise NpzFault(f"no {name}")
        with archive.open(entries[name]) as member:
            return _read_header(member, name)[1]


@contextmanager
def _opened(path: Path) -> Iterator[tuple[zipfile.ZipFile, dict[str, zipfile.ZipInfo]]]:
    """Yield the archive and its entries by the name of their array; faults of the archive are raised as NpzFault."""
    with path.open("rb") as file:
        if file.read(len(_MAGIC)) == _MAGIC:
            raise NpzFault("a single array")
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive, _entries(path, archive)
    except _ZIP_FAULTS as fault:
        raise NpzFault("something else or a damaged file") from fault


def _entries(path: Path, archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    entries: dict[str, zipfile.ZipInfo] = {}
    for entry in archive.infolist():
        name = entry.filename.removesuffix(".npy")
        if name in entries:
            raise NpzFault("two arrays of one name")
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise NpzFault("an array that is compressed in an unknown way")
        entries[name] = entry
    packed, unpacked = path.stat().st_size, sum(entry.file_size for entry in entries.values())
    if unpacked > max(MOST_UNPACKED, MOST_RATIO * packed):
        raise NpzFault(f"{packed} bytes that claim to unpack to {unpacked}")
    return entries


def _array(
    archive: zipfile.ZipFile, entry: zipfile.ZipInfo, name: str, kinds: str, mapped_file: Path | None
) -> NDArray[Any]:
    """Return one array; one of two dimensions is mapped where its file is given."""
    with archive.open(entry) as member:
        dtype, shape, fortran_order = _read_header(member, name)
        if dtype.kind not in kinds:
            raise NpzFault(f"{name} of type {dtype}")
        size: int = prod(shape)
        n_bytes = entry.file_size - member.tell()
        if dtype.itemsize == 0 and size:
            raise NpzFault(f"{name} of empty values")
        if size * dtype.itemsize != n_bytes or prod(length for length in shape if length) > LARGEST_EMPTY:
            raise NpzFault(f"{name} of shape {_shape_text(shape)} in {max(n_bytes, 0)} bytes")
        if mapped_file is not None and size and len(shape) == 2 and not fortran_order:
            return _mapped(mapped_file, entry, member, name, dtype, shape)
        flat = np.empty(size, dtype=dtype)
        _fill(member, flat.view(np.uint8) if size else np.empty(0, np.uint8), name)
    if dtype.kind == "U" and flat.view(dtype.byteorder + "u4").max(initial=0) > sys.maxunicode:
        raise NpzFault(f"{name} that are no text")  # Python cannot represent it
    return flat.reshape(shape[::-1]).T if fortran_order else flat.reshape(shape)


def _mapped(
    path: Path, entry: zipfile.ZipInfo, member: IO[bytes], name: str, dtype: np.dtype[Any], shape: tuple[int, ...]
) -> NDArray[Any]:
    """Return rows as mapped float32; all bytes are read once, which also compares the checksum."""
    in_file = entry.compress_type == zipfile.ZIP_STORED and dtype == np.dtype("<f4")
    offset = member.tell()
    rows = None if in_file else RowFile(f"{name} of {path}")
    step = max(1, _BYTES_PER_READ // (shape[1] * dtype.itemsize))
    buffer = np.empty((min(step, shape[0]), shape[1]), dtype=dtype)
    for first in range(0, shape[0], step):
        block = buffer[: min(step, shape[0] - first)]
        _fill(member, block.reshape(-1).view(np.uint8), name, at_end=first + step >= shape[0])
        if rows is not None:
            with np.errstate(over="ignore"):
                rows.append(block.astype(np.float32))
    return _in_place(path, entry, offset, shape) if rows is None else rows.finish(shape[1])


def _in_place(path: Path, entry: zipfile.ZipInfo, offset: int, shape: tuple[int, ...]) -> NDArray[np.float32]:
    """Return the float32 rows of an entry that is stored as it is, from `offset` of its content on."""
    with path.open("rb") as file:
        file.seek(entry.header_offset + 26)  # lengths of name and extra field in the local header of 30 bytes
        lengths = file.read(4)
    start = entry.header_offset + 30 + int.from_bytes(lengths[:2], "little") + int.from_bytes(lengths[2:], "little")
    return np.memmap(path, np.float32, "r", start + offset, shape)


def _read_header(member: IO[bytes], name: str) -> tuple[np.dtype[Any], tuple[int, ...], bool]:
    """Return the type and shape of an array in NumPy's format, and whether it is in Fortran order."""
    magic = member.read(8)
    width = 2 if magic[6:7] == b"\x01" else 4
    length = int.from_bytes(member.read(width), "little")
    header = _HEADER.fullmatch(member.read(length)) if magic[:6] == _MAGIC and length <= MOST_HEADER else None
    if header is None:
        raise NpzFault(f"{name} that is no array of numbers or text")
    sizes = [int(size) for size in header[3].replace(b" ", b"").split(b",") if size]
    if len(sizes) > MOST_DIMENSIONS:
        raise NpzFault(f"{name} of {len(sizes)} dimensions")
    try:
        return np.dtype(header[1].decode()), tuple(sizes), header[2] == b"True"
    except (TypeError, ValueError, OverflowError):
        raise NpzFault(f"{name} of an unknown type") from None


def _fill(member: IO[bytes], buffer: NDArray[np.uint8], name: str, at_end: bool = True) -> None:
    """Fill the buffer (n_bytes,) from the file, and check, at the end, that the file has no more bytes."""
    done = 0
    while done < len(buffer):
        part = member.read(min(_BYTES_PER_READ, len(buffer) - done))
        if not part:
            raise NpzFault(f"{name} cut off")
        buffer[done : done + len(part)] = np.frombuffer(part, np.uint8)
        done += len(part)
    if at_end and member.read(1):  # reading the end also compares the checksum
        raise NpzFault(f"{name} with bytes behind it")


def _shape_text(shape: tuple[int, ...]) -> str:
    return "(" + ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"
