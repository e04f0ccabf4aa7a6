"""Arrays of a .npz file, read without pickle: each size that a header claims is checked before memory is taken."""

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

MOST_UNPACKED = 1 << 28  # bytes that a compressed file may unpack to, whatever its size
MOST_TIMES = 100  # ... or this many times its size
MOST_HEADER = 1 << 16
_AT_ONCE = 1 << 22
_MAGIC = b"\x93NUMPY"
_ZIP_FAULTS = (  # what zipfile raises for damaged archives
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
    """What was found in place of such a file, in a few words."""


def read_arrays(path: Path, kinds: Mapping[str, str]) -> dict[str, NDArray[Any]]:
    """Return the arrays of a .npz file by name; raise NpzFault for what cannot be read.

    kinds  name -> letters of the NumPy kinds (`f`, `iu`, `U`) that its values may have; other names are passed over
    """
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
            raise NpzFault("an array that stands there twice")
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise NpzFault("an array that is compressed in an unknown way")
        entries[name] = entry
    packed, unpacked = path.stat().st_size, sum(entry.file_size for entry in entries.values())
    if unpacked > max(MOST_UNPACKED, MOST_TIMES * packed):
        raise NpzFault(f"{packed} bytes that claim to unpack to {unpacked}")
    return entries


def _array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, name: str, kinds: str) -> NDArray[Any]:
    with archive.open(entry) as member:
        dtype, shape, by_column = _read_header(member, name)
        if dtype.kind not in kinds:
            raise NpzFault(f"{name} of type {dtype}")
        size: int = prod(shape)
        left = entry.file_size - member.tell()
        if dtype.itemsize == 0 and size:
            raise NpzFault(f"{name} of empty values")
        if size * dtype.itemsize != left:
            raise NpzFault(f"{name} of shape {_shown(shape)} in {max(left, 0)} bytes")
        flat = np.empty(size, dtype=dtype)
        _fill(member, flat.view(np.uint8) if size else np.empty(0, np.uint8), name)
    if dtype.kind == "U" and flat.view(dtype.byteorder + "u4").max(initial=0) > sys.maxunicode:
        raise NpzFault(f"{name} that are no text")  # Python cannot read such a text
    return flat.reshape(shape[::-1]).T if by_column else flat.reshape(shape)


def _read_header(member: IO[bytes], name: str) -> tuple[np.dtype[Any], tuple[int, ...], bool]:
    """Return type, shape, and whether columns stand together, of an array in NumPy's format."""
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
    """Fill the buffer (n_bytes,) from the file, and check that nothing is left."""
    done = 0
    while done < len(buffer):
        part = member.read(min(_AT_ONCE, len(buffer) - done))
        if not part:
            raise NpzFault(f"{name} cut off")
        buffer[done : done + len(part)] = np.frombuffer(part, np.uint8)
        done += len(part)
    if member.read(1):  # and the end is where the check sum is compared
        raise NpzFault(f"{name} with bytes behind it")


def _shown(shape: tuple[int, ...]) -> str:
    return "(" + ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"
