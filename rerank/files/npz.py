"""Reading the arrays of a .npz file without pickle; the sizes in headers are checked before memory is allocated."""

from __future__ import annotations

import re
import sys
import zipfile
import zlib
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

MOST_UNPACKED = 1 << 28  # bytes that a compressed file of any size may unpack to
MOST_RATIO = 100  # a larger file may unpack to this many times its size
MOST_HEADER = 1 << 16
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


def read_arrays(path: Path, kinds: Mapping[str, str]) -> dict[str, NDArray[Any]]:
    """Return the arrays of a .npz file by name.

    Parameters
    ----------
    path : Path
        The file.
    kinds : mapping from str to str
        Letters of the NumPy kinds (`f`, `iu`, `U`) that each array may have; arrays of other names are skipped.

    Raises
    ------
    NpzFault
        If the file cannot be read, or an array has another kind.

    """
    with path.open("rb") as file:
        if file.read(len(_MAGIC)) == _MAGIC:
            raise NpzFault("a single array")
    try:
        with zipfile.ZipFile(path) as archive:
            entries = _entries(path, archive)
            return {name: _array(archive, entries[name], name, kinds[name]) for name in kinds if name in entries}
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


def _array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, name: str, kinds: str) -> NDArray[Any]:
    with archive.open(entry) as member:
        dtype, shape, fortran_order = _read_header(member, name)
        if dtype.kind not in kinds:
            raise NpzFault(f"{name} of type {dtype}")
        size: int = prod(shape)
        n_bytes = entry.file_size - member.tell()
        if dtype.itemsize == 0 and size:
            raise NpzFault(f"{name} of empty values")
        if size * dtype.itemsize != n_bytes:
            raise NpzFault(f"{name} of shape {_shape_text(shape)} in {max(n_bytes, 0)} bytes")
        flat = np.empty(size, dtype=dtype)
        _fill(member, flat.view(np.uint8) if size else np.empty(0, np.uint8), name)
    if dtype.kind == "U" and flat.view(dtype.byteorder + "u4").max(initial=0) > sys.maxunicode:
        raise NpzFault(f"{name} that are no text")  # Python cannot represent it
    return flat.reshape(shape[::-1]).T if fortran_order else flat.reshape(shape)


def _read_header(member: IO[bytes], name: str) -> tuple[np.dtype[Any], tuple[int, ...], bool]:
    """Return the type and shape of an array in NumPy's format, and whether it is in Fortran order."""
    magic = member.read(8)
    width = 2 if magic[6:7] == b"\x01" else 4
    length = int.from_bytes(member.read(width), "little")
    header = _HEADER.fullmatch(member.read(length)) if magic[:6] == _MAGIC and length <= MOST_HEADER else None
    if header is None:
        raise NpzFault(f"{name} that is no array of numbers or text")
    sizes = [int(size) for size in header[3].replace(b" ", b"").split(b",") if size]
    try:
        return np.dtype(header[1].decode()), tuple(sizes), header[2] == b"True"
    except (TypeError, ValueError):
        raise NpzFault(f"{name} of an unknown type") from None


def _fill(member: IO[bytes], buffer: NDArray[np.uint8], name: str) -> None:
    """Fill the buffer (n_bytes,) from the file, and check that the file has no more bytes."""
    done = 0
    while done < len(buffer):
        part = member.read(min(_BYTES_PER_READ, len(buffer) - done))
        if not part:
            raise NpzFault(f"{name} cut off")
        buffer[done : done + len(part)] = np.frombuffer(part, np.uint8)
        done += len(part)
    if member.read(1):  # reading the end also compares the checksum
        raise NpzFault(f"{name} with bytes behind it")


def _shape_text(shape: tuple[int, ...]) -> str:
    return "(" + ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"
