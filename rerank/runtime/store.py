"""Stored files of this package: a .npz archive of a header and arrays, without pickle, that NumPy reads as well.

    about.npy   the UTF-8 bytes of JSON: format, version, and the values of the kind of file
    NAME.npy    an array, stored as it is and aligned to 64 bytes, so that it can be memory-mapped

A `Kind` declares what its files hold. Sizes in headers are checked before memory is allocated, and each array is
compared with its checksum (CRC-32) and its declaration. Of mapped arrays, checksums and content are checked once for
each state of the file: a note has the size and times of a verified file.

The cache folder has what can be made again: forward arrays of read-only indexes, notes of verified files.
"""

import hashlib
import json
import os
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from math import prod
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from rerank.errors import FileFormatError, RerankError, shown
from rerank.runtime.cache_folder import cache_folder
from rerank.runtime.fields import Record, SchemaError, at
from rerank.runtime.json_text import ParseFault, parse_json
from rerank.runtime.output import whole_file, write_text

LAST_CHARACTER, SURROGATES = 0x10FFFF, 0xD800 >> 11  # of Unicode; a lone surrogate is not a character
_ALIGNMENT, _ALIGNMENT_FIELD = 64, 0xD935  # the extra field by which zipalign aligns entries
_LOCAL, _ZIP64 = 30, 20  # bytes of an entry's local header, and of its extra field of sizes
_AT_ONCE = 1 << 22  # bytes
_DAMAGE = (  # raised by zipfile and NumPy for damaged archives
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    OSError,
    NotImplementedError,
    RuntimeError,
    ValueError,
)


class Fault(ValueError):
    """An error in a stored file; the message is a short description of what was found."""


@dataclass(frozen=True)
class Stored:
    """An array of a file.

    Parameters
    ----------
    dtype : type
        Its NumPy type; np.str_ for text.
    shape : tuple of str
        Its lengths: numbers, or names of sizes, which the first array with the name sets; "n+1" is one more than "n".
    mapped : bool
        Whether it is memory-mapped; its content is checked by the kind of file.
    optional : bool
        Whether it may be missing.

    """

    dtype: Any
    shape: tuple[str, ...]
    mapped: bool = False
    optional: bool = False

    def check_form(self, dtype: np.dtype[Any], shape: tuple[int, ...], sizes: dict[str, int]) -> None:
        """Raise SchemaError for another type or shape; set the sizes that were not known."""
        alike = dtype.kind == "U" and dtype.itemsize > 0 if self.dtype is np.str_ else dtype == self.dtype
        if not alike or not dtype.isnative:
            raise SchemaError(f"type {np.dtype(self.dtype)}", f"type {dtype}")
        fits = len(shape) == len(self.shape)
        for declared, length in zip(self.shape, shape, strict=False):
            name, _, more = declared.partition("+")
            own = length - int(more or 0)
            fits = fits and own == (int(name) if name.isdecimal() else sizes.setdefault(name, own))
        if not fits:
            lengths = ", ".join(str(sizes.get(length, length)) for length in self.shape)
            raise SchemaError(f"shape ({lengths})", f"shape {shape}")


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


def write(path: str | Path, kind: Kind, values: Mapping[str, Any], arrays: Mapping[str, NDArray[Any] | Blocks]) -> None:
    """Write a file, complete or not at all; the same content gives the same bytes."""
    text = json.dumps({"format": kind.name, "version": kind.version, **values})
    with whole_file(path, binary=True) as handle, zipfile.ZipFile(handle, "w", zipfile.ZIP_STORED) as archive:
        for name, content in {"about": np.frombuffer(text.encode(), dtype=np.uint8), **arrays}.items():
            array = content if isinstance(content, Blocks) else Blocks(content.dtype, content.shape, [content])
            info = zipfile.ZipInfo(f"{name}.npy")  # without a time
            info.create_system = 3  # Unix, on Windows as well
            start = handle.tell() + _LOCAL + len(info.filename.encode()) + 4 + _ZIP64
            info.extra = struct.pack("<HH", _ALIGNMENT_FIELD, -start % _ALIGNMENT) + bytes(-start % _ALIGNMENT)
            with archive.open(info, "w", force_zip64=True) as entry:
                dtype = np.dtype(array.dtype).newbyteorder("<")
                header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": array.shape}
                np.lib.format.write_array_header_1_0(entry, header)
                step = max(1, _AT_ONCE // max(dtype.itemsize * prod(array.shape[1:]), 1))
                for block in array.blocks:
                    for first in range(0, len(block), step):
                        entry.write(np.ascontiguousarray(block[first : first + step], dtype=dtype).tobytes())


def read(path: Path, kind: Kind, notes: Sequence[Path] = ()) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return values and arrays of a file by name, all of them checked.

    notes  where a note may be that a file with mapped arrays was verified; without, it is verified each time
    """
    with _opened(path, kind) as (archive, values):
        state = file_state(path)
        verified = bool(notes) and is_noted(notes, state)
        sizes: dict[str, int] = {}
        arrays = {}
        for name, field in kind.arrays(values).items():
            if f"{name}.npy" in archive.NameToInfo:
                with at(name):
                    arrays[name] = _array(path, archive, name, field, sizes, verified)
            elif not field.optional:
                raise Fault(f"no {name if name.isprintable() else shown(name)}")
        if not verified:
            kind.check(values, arrays)
            write_note(notes, state)
        return values, arrays


def kept(name: str, kind: Kind, make: Callable[[], Mapping[str, NDArray[Any]]]) -> Mapping[str, NDArray[Any]]:
    """Return the arrays of a file in the cache folder; where it is missing or damaged, those that `make` returns.

    The latter are then written; where there is no folder to write to, they are made again in each process.
    """
    path = cache_folder() / name
    with suppress(OSError, RerankError):
        return read(path, kind, [note_path(path)])[1]
    arrays = make()
    with suppress(OSError, RerankError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write(path, kind, {}, arrays)
    return arrays


def read_values(path: Path, kind: Kind) -> dict[str, Any]:
    """Return the values of the header of a file, whose arrays are not read."""
    with _opened(path, kind) as (_, values):
        return values


@contextmanager
def _opened(path: Path, kind: Kind) -> Iterator[tuple[zipfile.ZipFile, dict[str, Any]]]:
    """Yield the archive and the values of its header; any fault is raised as the kind's error."""
    try:
        if path.exists() and not path.is_file():  # it may have no end
            raise Fault("a folder, pipe or device")
        with zipfile.ZipFile(path) as archive:
            if "about.npy" not in archive.NameToInfo:
                raise Fault("arrays of something else")
            with at("about"):
                text = _array(path, archive, "about", Stored(np.uint8, ("bytes",)), {}, False).tobytes()
            about = parse_json(text)
            if not isinstance(about, dict) or about.pop("format", None) != kind.name:
                raise Fault("arrays of something else")
            version = about.pop("version", None)
            if type(version) is not int or version != kind.version:
                raise Fault(f"version {shown(version)} where this version of rerank reads {kind.version}")
            with at("about"):
                values = kind.values.read(about)
            yield archive, values
    except Fault as fault:
        raise kind.error(path, fault) from None
    except ParseFault as fault:
        raise kind.error(path, f"arrays of something else (about: {fault})") from None
    except SchemaError as error:
        raise kind.error(path, f"{error.path}: expected {error.expected}, got {error.got}") from None
    except _DAMAGE as fault:
        if isinstance(fault, RerankError):
            raise
        raise kind.error(path, "something else or a damaged file") from fault


def _array(
    path: Path, archive: zipfile.ZipFile, name: str, field: Stored, sizes: dict[str, int], verified: bool
) -> NDArray[Any]:
    """Return one array; type and shape are checked before memory is allocated."""
    entry = archive.NameToInfo[f"{name}.npy"]
    with archive.open(entry) as member:
        dtype, shape = _read_form(member, name)
        field.check_form(dtype, shape, sizes)
        start = member.tell()
        n_bytes = dtype.itemsize * prod(shape)
        if entry.compress_type != zipfile.ZIP_STORED or n_bytes != entry.file_size - start:
            raise Fault(f"{name} of shape {shape} that is compressed, or in {entry.file_size} bytes")
        while field.mapped and not verified and member.read(_AT_ONCE):
            pass  # at its end the checksum is compared
    if field.mapped and n_bytes:
        with path.open("rb") as file:
            file.seek(entry.header_offset + _LOCAL - 4)
            start += entry.header_offset + _LOCAL + sum(struct.unpack("<HH", file.read(4)))  # its name, extra fields
        return np.asarray(np.memmap(path, dtype, "r", start, shape))
    with archive.open(entry) as member:
        array: NDArray[Any] = np.lib.format.read_array(member)
        member.read(1)  # at its end the checksum is compared
    if field.dtype is np.str_ and not are_characters(array):
        raise SchemaError("text", "something else")
    array.flags.writeable = not field.mapped
    return array


def _read_form(member: IO[bytes], name: str) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """Return the type and shape of an array in NumPy's format, whose rows are together."""
    try:
        np.lib.format.read_magic(member)
        shape, in_columns, dtype = np.lib.format.read_array_header_1_0(member)
    except (LookupError, MemoryError, SyntaxError, TypeError, TokenError, ValueError):
        raise Fault(f"{name} that is no array of numbers or text") from None
    if in_columns:
        raise Fault(f"{name} whose columns are together")
    return dtype, shape


def are_characters(texts: NDArray[Any]) -> bool:
    """Return whether all of a text array is text: it may hold numbers that are no characters of Unicode."""
    for first in range(0, len(texts), _AT_ONCE >> 8):
        characters = np.ascontiguousarray(texts[first : first + (_AT_ONCE >> 8)]).ravel().view(np.uint32)
        if ((characters > LAST_CHARACTER) | (characters >> 11 == SURROGATES)).any():
            return False
    return True


def file_state(path: Path) -> list[int]:
    """Return size and times of a file; programs cannot set the time of the last status change."""
    stat = os.stat(path)
    return [stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns]


def note_path(verified: Path) -> Path:
    """Return the path of the note in the cache folder that a file or folder was verified."""
    return cache_folder() / f"verified-{hashlib.sha256(os.fsencode(verified.absolute())).hexdigest()[:32]}.json"


def is_noted(paths: Iterable[Path], state: Any) -> bool:
    """Return whether one of the notes at these paths has this state."""
    return any(read_note(path) == state for path in paths)


def write_note(paths: Iterable[Path], state: Any) -> None:
    """Note the state at the first of these paths that can be written; if none can, files are verified again."""
    for path in paths:
        with suppress(OSError, RerankError):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_text(path, json.dumps(state))
            return


def read_note(path: Path) -> Any:
    """Return the state that is noted at a path; None if there is none, or it cannot be read."""
    try:
        return parse_json(path.read_text(encoding="utf8"))
    except (OSError, ValueError):
        return None
