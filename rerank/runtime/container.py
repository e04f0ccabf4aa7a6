"""Stored files of this package: a .npz archive of a header and arrays, without pickle, that NumPy reads as well.

    about.npy   the UTF-8 bytes of JSON: format, version, and the values of the kind of file
    NAME.npy    an array, stored as it is and aligned to 64 bytes, so that it can be memory-mapped

A `Kind` declares what its files hold. Sizes in headers are checked before memory is allocated, and each array is
compared with its checksum (CRC-32) and its declaration. Of mapped arrays, checksums and content are checked once for
each state of the file: a note has the size and times of a verified file.
"""

from __future__ import annotations

import json
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import FileFormatError, RerankError, shown
from rerank.runtime.cache import file_state, is_noted, write_note
from rerank.runtime.output import whole_file
from rerank.runtime.schema import Field, Record, SchemaError, Sizes, at
from rerank.runtime.strict_json import ParseFault, parse_json

LEAST_MAPPED = 1 << 16  # bytes; smaller arrays are read
LAST_CHARACTER, SURROGATES = 0x10FFFF, 0xD800 >> 11  # of Unicode; a lone surrogate is not a character
_ALIGNMENT, _ALIGNMENT_FIELD = 64, 0xD935  # the extra field by which zipalign aligns entries
_LOCAL, _ZIP64 = 30, 20  # bytes of an entry's local header, and of its extra field of sizes
_AT_ONCE = 1 << 22  # bytes
_MAGIC = b"\x93NUMPY"
_DAMAGE = (  # raised by zipfile and NumPy for damaged archives
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    OSError,
    NotImplementedError,
    RuntimeError,
    ValueError,
)
Length = str | int | Callable[[Sizes], int] | None


class Fault(ValueError):
    """An error in a stored file; the message is a short description of what was found."""


@dataclass(frozen=True)
class Stored(Field):
    """An array of a file.

    Parameters
    ----------
    dtype : type
        Its NumPy type; np.str_ for text.
    shape : tuple of str, int, callable or None
        Its lengths; a name is that of a size, which the first array with it sets, and None is any length.
    low, high : float or callable, optional
        Bounds of the values, both included; a mapped array is not compared with them.
    end : str
        Name of a size: the values rise from 0 to it.
    kinds : str
        NumPy's kinds of other types, which are converted to `dtype`; numbers beyond it become infinite.
    mapped : bool
        Whether a large array is memory-mapped; its content is checked by the kind of file.
    optional : bool
        Whether it may be missing.

    """

    dtype: Any
    shape: tuple[Length, ...]
    low: float | None = None
    high: float | Callable[[Sizes], int] | None = None
    end: str = ""
    kinds: str = ""
    mapped: bool = False
    optional: bool = False

    def check_type(self, dtype: np.dtype[Any]) -> None:
        """Raise SchemaError for a type that is not read."""
        alike = dtype.kind == "U" if self.dtype is np.str_ else dtype == self.dtype
        if (not alike and dtype.kind not in self.kinds) or (not dtype.isnative and not self.kinds):
            raise SchemaError(str(np.dtype(self.dtype)), f"of type {dtype}")

    def check_shape(self, shape: tuple[int, ...], sizes: Sizes) -> None:
        """Raise SchemaError for another shape; set the sizes that were not known."""
        fits: list[str | int | None] = []
        for length in self.shape:
            known = length(sizes) if callable(length) else length
            fits.append(sizes.get(known, known) if isinstance(known, str) else known)
        lengths = [fit if isinstance(fit, int) else None for fit in fits]
        if len(fits) != len(shape) or any(fit not in (None, of) for fit, of in zip(lengths, shape, strict=True)):
            text = ", ".join("any" if fit is None else str(fit) for fit in lengths) + ("," if len(fits) == 1 else "")
            raise SchemaError(f"shape ({text})", f"of shape {_shape_text(shape)} where ({text}) fits")
        sizes.update({fit: of for fit, of in zip(fits, shape, strict=True) if isinstance(fit, str)})

    def read(self, value: Any, sizes: Sizes) -> NDArray[Any]:
        """Return an array whose type and shape fit, its values checked."""
        if self.dtype is np.str_:
            return _texts(value)
        with np.errstate(over="ignore"):
            array: NDArray[Any] = value.astype(self.dtype, copy=False)
        if self.low is not None and self.high is not None:
            high = self.high(sizes) if callable(self.high) else self.high
            if not ((array >= self.low) & (array <= high)).all():
                raise SchemaError(f"{self.low:g} to {high:g}", f"beyond {self.low:g} to {high:g}")
        end = sizes.get(self.end, 0)
        if self.end and (array[0] != 0 or array[-1] != end or (array[1:] < array[:-1]).any()):
            raise SchemaError(f"numbers that rise from 0 to {end}", f"that does not rise from 0 to {end}")
        return array


def offsets(n: str, end: str, *, kinds: str = "", mapped: bool = False, optional: bool = False) -> Stored:
    """Return the declaration of offsets of `n` groups of values, which rise from 0 to `end`: both names of sizes."""
    return Stored(np.int64, (lambda sizes: sizes[n] + 1,), end=end, kinds=kinds, mapped=mapped, optional=optional)


@dataclass(frozen=True)
class Blocks:
    """An array that is written block by block, so that it need not be in memory at once.

    dtype, shape  of the whole array
    blocks        its rows, in order
    """

    dtype: Any
    shape: tuple[int, ...]
    blocks: Iterable[NDArray[Any]]


@dataclass(frozen=True)
class Kind:
    """A kind of file.

    name, version  which the header holds
    what, remedy   of the messages
    values         the other values of the header
    arrays         returns the arrays of a file with these values, in the order in which they are checked
    check          raises Fault or SchemaError for content that cannot be; called once for each state of a mapped file
    """

    name: str
    version: int
    what: str
    remedy: str
    values: Record
    arrays: Callable[[Mapping[str, Any]], Mapping[str, Stored]] = lambda values: {}
    check: Callable[[Mapping[str, Any], Mapping[str, NDArray[Any]]], object] = lambda values, arrays: None

    def error(self, path: Path, fault: object) -> RerankError:
        """Return the error for a file in which something else was found."""
        return FileFormatError(path, None, f"expected {self.what}, got {fault}. {self.remedy}")

    def value_error(self, path: Path, error: SchemaError) -> RerankError:
        """Return the error for a header with a wrong value."""
        return FileFormatError(path, None, error.fault(self.remedy))


def write(path: str | Path, kind: Kind, values: Mapping[str, Any], arrays: Mapping[str, NDArray[Any] | Blocks]) -> None:
    """Write a file, complete or not at all; the same content gives the same bytes."""
    text = json.dumps({"format": kind.name, "version": kind.version, **values})
    about = np.frombuffer(text.encode(), dtype=np.uint8)
    with whole_file(path, binary=True) as handle, zipfile.ZipFile(handle, "w", zipfile.ZIP_STORED) as archive:
        for name, content in {"about": about, **arrays}.items():
            array = content if isinstance(content, Blocks) else Blocks(content.dtype, content.shape, [content])
            info = zipfile.ZipInfo(f"{name}.npy")  # without a time
            start = handle.tell() + _LOCAL + len(info.filename.encode()) + 4 + _ZIP64
            info.extra = struct.pack("<HH", _ALIGNMENT_FIELD, -start % _ALIGNMENT) + bytes(-start % _ALIGNMENT)
            with archive.open(info, "w", force_zip64=True) as entry:
                _write_array(entry, array)


def _write_array(entry: IO[bytes], array: Blocks) -> None:
    dtype = np.dtype(array.dtype).newbyteorder("<")
    descr = np.lib.format.dtype_to_descr(dtype)
    np.lib.format.write_array_header_1_0(entry, {"descr": descr, "fortran_order": False, "shape": array.shape})
    step = max(1, _AT_ONCE // max(dtype.itemsize * prod(array.shape[1:]), 1))
    for block in array.blocks:
        for first in range(0, len(block), step):
            entry.write(np.ascontiguousarray(block[first : first + step], dtype=dtype).tobytes())


def read(path: Path, kind: Kind, notes: Sequence[Path] = ()) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return values and arrays of a file by name, all of them checked.

    notes  where a note may be that a file with mapped arrays was verified; without, it is verified each time
    """
    with _opened(path, kind) as (archive, entries):
        values, sizes = _values(path, kind, archive, entries)
        declared = kind.arrays(values)
        for name, field in declared.items():
            if name not in entries and not field.optional:
                raise Fault(f"no {name if name.isprintable() else shown(name)}")
        state = file_state(path)
        verified = bool(notes) and is_noted(notes, state)
        arrays = {
            name: _array(path, archive, entries[name], field, sizes, verified)
            for name, field in declared.items()
            if name in entries
        }
        if not verified:
            kind.check(values, arrays)
            if notes:
                write_note(notes, state)
        return values, arrays


def read_values(path: Path, kind: Kind) -> dict[str, Any]:
    """Return the values of the header of a file, whose arrays are not read."""
    with _opened(path, kind) as (archive, entries):
        return _values(path, kind, archive, entries)[0]


@contextmanager
def _opened(path: Path, kind: Kind) -> Iterator[tuple[zipfile.ZipFile, dict[str, zipfile.ZipInfo]]]:
    """Yield the archive and its entries by the name of their array; any fault is raised as the kind's error."""
    try:
        with path.open("rb") as file:
            beginning = file.read(len(_MAGIC))
        if not beginning.startswith(b"PK"):
            raise Fault("a single array" if beginning == _MAGIC else "another kind of file")
        with zipfile.ZipFile(path) as archive:
            yield archive, {entry.filename.removesuffix(".npy"): entry for entry in archive.infolist()}
    except (Fault, ParseFault) as fault:
        raise kind.error(path, fault) from None
    except SchemaError as error:
        raise kind.error(path, f"{error.path} {error.got}") from None
    except _DAMAGE as fault:
        if isinstance(fault, RerankError):
            raise
        raise kind.error(path, "something else or a damaged file") from fault


def _values(
    path: Path, kind: Kind, archive: zipfile.ZipFile, entries: Mapping[str, zipfile.ZipInfo]
) -> tuple[dict[str, Any], Sizes]:
    """Return the values of the header, and the sizes that they set."""
    if "about" not in entries:
        raise Fault("arrays of something else")
    raw = _array(path, archive, entries["about"], Stored(np.uint8, (None,)), {}, False)
    sizes = Sizes()
    try:
        about = parse_json(raw.tobytes())
    except ParseFault as fault:
        raise Fault(f"arrays of something else (about: {fault})") from None
    if not isinstance(about, dict) or about.pop("format", None) != kind.name:
        raise Fault("arrays of something else")
    version = about.pop("version", None)
    if type(version) is not int or version != kind.version:
        raise Fault(f"version {shown(version)} where this version of rerank reads {kind.version}")
    try:
        return kind.values.read(about, sizes), sizes
    except SchemaError as error:
        raise kind.value_error(path, error.within("about")) from None


def _array(
    path: Path, archive: zipfile.ZipFile, entry: zipfile.ZipInfo, field: Stored, sizes: Sizes, verified: bool
) -> NDArray[Any]:
    """Return one array; type and shape are checked before memory is allocated."""
    name = entry.filename.removesuffix(".npy")
    with archive.open(entry) as member, at(name):
        dtype, shape, fortran_order = _read_header(member, name)
        field.check_type(dtype)
        offset = member.tell()
        n_bytes = entry.file_size - offset
        if prod(shape) * dtype.itemsize != n_bytes:
            raise Fault(f"{name} of shape {_shape_text(shape)} in {max(n_bytes, 0)} bytes")
        field.check_shape(shape, sizes)
        is_stored = entry.compress_type == zipfile.ZIP_STORED and not fortran_order
        is_large = n_bytes >= (1 if len(shape) == 2 else LEAST_MAPPED)
        if field.mapped and is_stored and is_large and (dtype == field.dtype or field.dtype is np.str_):
            if not verified:
                for first in range(0, n_bytes + 1, _AT_ONCE):  # at its end the checksum is compared
                    member.read(min(_AT_ONCE, n_bytes - first) or 1)
            return np.asarray(np.memmap(path, dtype, "r", _start(path, entry) + offset, shape))
    with archive.open(entry) as member, at(name):
        whole = np.lib.format.read_array(member)
        member.read(1)  # at its end the checksum is compared
        array = np.ascontiguousarray(field.read(whole, sizes))
    array.flags.writeable = not field.mapped or bool(field.kinds)
    return array


def _start(path: Path, entry: zipfile.ZipInfo) -> int:
    """Return where the content of an entry that is stored as it is begins in the file."""
    with path.open("rb") as file:
        file.seek(entry.header_offset + _LOCAL - 4)
        name, extra = struct.unpack("<HH", file.read(4))
    return int(entry.header_offset + _LOCAL + name + extra)


def _read_header(member: IO[bytes], name: str) -> tuple[np.dtype[Any], tuple[int, ...], bool]:
    """Return the type and shape of an array in NumPy's format, and whether it is in Fortran order."""
    read = {1: np.lib.format.read_array_header_1_0, 2: np.lib.format.read_array_header_2_0}
    try:
        shape, fortran_order, dtype = read[np.lib.format.read_magic(member)[0]](member)
    except (LookupError, MemoryError, SyntaxError, TypeError, TokenError, ValueError):
        raise Fault(f"{name} that is no array of numbers or text") from None
    return dtype, shape, fortran_order


def _texts(array: NDArray[Any]) -> NDArray[np.str_]:
    """Return text, UTF-8 or whole numbers as text of at least one character's width."""
    try:
        if array.dtype.kind == "U" and not are_characters(array):
            raise UnicodeError
        texts = np.char.decode(array, "utf-8") if array.dtype.kind == "S" else array.astype(np.str_)
    except UnicodeError:
        raise SchemaError("text", "that are no text") from None
    return texts if texts.dtype.itemsize else texts.astype("U1")


def are_characters(texts: NDArray[Any]) -> bool:
    """Return whether all of a text array is text: it may hold numbers that are no characters of Unicode."""
    for first in range(0, len(texts), _AT_ONCE >> 8):
        some = np.ascontiguousarray(texts[first : first + (_AT_ONCE >> 8)])
        characters = some.ravel().view(some.dtype.byteorder + "u4") if some.itemsize else np.empty(0, np.uint32)
        if ((characters > LAST_CHARACTER) | (characters >> 11 == SURROGATES)).any():
            return False
    return True


def _shape_text(shape: tuple[int, ...]) -> str:
    return "(" + ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"
